"""The edits that confine a server and give it back: which bytes change, and what the entry must mean afterwards."""
from __future__ import annotations

import copy
from types import ModuleType
from typing import Any, NamedTuple

from .decide import Decision, wrapper_arguments
from .document import DocumentError, Node, Splice
from .entries import Entry, Wrapping
from .mask import program


class Conflict(DocumentError):
    """The entry was changed since it was wrapped in a way that leaves two answers; the text names both."""


class Change(NamedTuple):
    """One entry's edit. `wanted` is its data afterwards; `record` what undo must remember (None: nothing new).

    `exact` is False when the entry is given back with the same meaning but perhaps not with the same bytes.
    """

    splices: list[Splice]
    wanted: Any
    record: dict[str, Any] | None = None
    exact: bool = True


def editor(format: str) -> ModuleType:
    """The module that reads and edits this format. All have the functions of edit_json."""
    # Plain imports: what a module ships to a host is found by reading them.
    if format == "toml":
        from . import edit_toml

        return edit_toml
    if format == "yaml":
        from . import edit_yaml

        return edit_yaml
    if format == "json5":
        from . import edit_json5

        return edit_json5
    from . import edit_json

    return edit_json


def confine(
    edit: ModuleType, data: bytes, entry: Entry, decision: Decision, wrapper: str, *, isolation_off: bool
) -> Change:
    """Puts the wrapper in front of the command; a wrapper that is there at another place gets the new path."""
    command, wrapped = entry.command, decision.wrapping
    if command is None:
        raise DocumentError("a server without a command is never wrapped")
    wanted = copy.deepcopy(entry.node.plain())
    body = _body(wanted, entry)
    shape = entry.shape
    if wrapped is not None:
        node = command if wrapped.how == "command" else wrapped.items.items[wrapped.first]
        if wrapped.how == "command":
            body[shape.command] = wrapper
        else:
            body[shape.args or shape.command][wrapped.first] = wrapper
        return Change([Splice(node.start, node.end, edit.quote(wrapper))], wanted)
    words = wrapper_arguments(entry)
    tokens = [edit.quote(word) for word in words]
    if not shape.args:
        body[shape.command] = [wrapper, *words, *body[shape.command]]
        first = command.items[0]
        record = _record(data, first, edit.token(data, first, command))
        return Change([edit.prepend(data, command, [edit.quote(wrapper), *tokens])], wanted, record)
    written = edit.token(data, command, entry.args)
    tokens.append(written)
    body[shape.args] = [*words, command.value, *body.get(shape.args, [])]
    body[shape.command] = wrapper
    splices = [Splice(command.start, command.end, edit.quote(wrapper))]
    record = _record(data, command, written)
    if entry.args is None:
        splices.append(edit.add_list(data, entry.body, shape.command, shape.args, tokens))
        record["args_added"] = True
    else:
        splices.append(edit.prepend(data, entry.args, tokens))
    if isolation_off:
        record["isolation"] = _switch_isolation_off(edit, data, entry, splices, wanted)
    return Change(splices, wanted, record)


def release(edit: ModuleType, data: bytes, entry: Entry, wrapped: Wrapping, record: dict[str, Any] | None) -> Change:
    """Takes the wrapper out again. `record` is what `confine` remembered, or None when that is gone.

    Raises `Conflict` when the command that now stands behind the wrapper is not the one that was recorded.
    """
    wanted = copy.deepcopy(entry.node.plain())
    body, shape, items = _body(wanted, entry), entry.shape, wrapped.items
    original = items.items[wrapped.last + 1]
    if record is not None and wrapped.how != "nested" and record.get("command") != _mark(original.value):
        now, then = program(original.value), record.get("program")
        raise Conflict(
            f"its command was changed behind the wrapper: the file says {now}, the record of the wrapping says {then};"
            " put the old one back, or take the wrapper out by hand"
        )
    listed = shape.args or shape.command
    if wrapped.how != "command":
        del body[listed][wrapped.first:wrapped.last + 1]
        return Change([edit.cut(data, items, wrapped.first, wrapped.last)], wanted, exact=True)
    command = entry.command
    if command is None:
        raise DocumentError("its command is gone; take the wrapper out by hand")
    token = data[original.start:original.end]
    if record is not None and record.get("plain") and token == edit.quote(original.value):
        token = original.value.encode()
    body[shape.command] = original.value
    del body[listed][:wrapped.last + 2]
    splices = [Splice(command.start, command.end, token)]
    if not body[listed] and record is not None and record.get("args_added"):
        del body[listed]
        splices.append(edit.drop(data, entry.body, listed))
    else:
        splices.append(edit.cut(data, items, 0, wrapped.last + 1))
    if record is not None and record.get("isolation"):
        _give_isolation_back(edit, data, entry, record["isolation"], splices=splices, wanted=wanted)
    certain = bool(body.get(listed)) and edit.is_original_token(data, original, items)
    return Change(splices, wanted, exact=record is not None or certain)


def _body(plain: Any, entry: Entry) -> Any:
    return plain[entry.shape.inside] if entry.shape.inside else plain


def _record(data: bytes, command: Node, written: bytes) -> dict[str, Any]:
    """What undo must know of the original command: that it is still the same, and whether quotes were added to it."""
    record: dict[str, Any] = {"command": _mark(command.value), "program": program(command.value)}
    if written != data[command.start:command.end]:
        record["plain"] = True  # a plain scalar of one line is its own text
    return record


def _mark(command: str) -> str:
    import hashlib  # whoever only looks does not need it

    return hashlib.sha256(command.encode("utf-8", "surrogatepass")).hexdigest()


def _switch_isolation_off(edit: ModuleType, data: bytes, entry: Entry, splices: list[Splice], wanted: Any) -> str:
    """mcpproxy would start the wrapper in a container: its isolation goes off for this server. Says what was added."""
    isolation = entry.node.get("isolation")
    if isolation is None:
        beside = entry.shape.args if entry.args is not None else entry.shape.command
        splices.append(edit.add_member(data, entry.node, beside, "isolation", b'{"enabled": false}'))
        wanted["isolation"] = {"enabled": False}
        return "isolation"
    if not isolation.members:
        raise DocumentError("its isolation is empty; remove it or say what it should be")
    splices.append(edit.add_member(data, isolation, isolation.members[-1][0], "enabled", b"false"))
    wanted["isolation"]["enabled"] = False
    return "enabled"


def _give_isolation_back(
    edit: ModuleType, data: bytes, entry: Entry, added: str, *, splices: list[Splice], wanted: Any
) -> None:
    isolation = entry.node.get("isolation")
    if isolation is None or isolation.plain().get("enabled") is not False:
        return  # the user has chosen meanwhile
    if added == "isolation" and len(isolation.members) == 1:
        splices.append(edit.drop(data, entry.node, "isolation"))
        del wanted["isolation"]
    else:
        splices.append(edit.drop(data, isolation, "enabled"))
        del wanted["isolation"]["enabled"]
