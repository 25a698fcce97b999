"""From the values of a file to its servers: which member is the command, which are the arguments, what wraps what."""
from __future__ import annotations

import os
from typing import Any, NamedTuple

from .catalogue import OUTER_WRAPPERS, SHAPES, Client, Shape
from .document import Found, Node

WRAPPER_NAME = "mcp-confine"
REMOTE_TYPES = (
    "http", "https", "sse", "streamable-http", "streamablehttp", "streamable_http", "ws", "websocket", "remote",
)


class Wrapping(NamedTuple):
    """Where the wrapper stands in an entry.

    `items` is the list that holds its arguments; `first` to `last` are the items that the wrapper brought, the bare
    `--` included. `how`: "command" (the command is the wrapper, the item after `last` is the original command), "list"
    (`items` begin with the wrapper) or "nested" (it stands in the arguments of another tool's wrapper).
    """

    how: str
    path: str
    items: Node
    first: int
    last: int


class Entry(NamedTuple):
    """One server of one file. `path` are the keys that lead to it, the last of them its name as it is in the file.

    `body` is the object with the command: the entry itself or a member of it. `command` and `args` are None when
    absent.
    """

    server: str
    path: tuple[str, ...]
    holds: str
    node: Node
    shape: Shape
    body: Node
    command: Node | None
    args: Node | None

    def argv(self) -> list[str]:
        """The command and its arguments; what is not a string is left out."""
        words: list[str] = []
        for node in (self.command, self.args):
            if node is not None:
                items = [node] if node.kind == "string" else node.items
                words += [item.value for item in items if item.kind == "string"]
        return words

    def environment(self) -> dict[str, Any]:
        """The entry's env block, values included: for starting the server, never for showing."""
        block = self.body.get(self.shape.env) or self.body.get("env") or self.node.get("env")
        value = block.plain() if block is not None and block.kind == "object" else {}
        return dict(value)

    def env_names(self) -> list[str]:
        """The names in its env block and in its list of names to pass on, in the order of the file, each once."""
        names = list(self.environment())
        listed = self.body.get(self.shape.env_names)
        for item in listed.items if listed is not None else ():
            name = item.value if item.kind == "string" else item.plain().get("name") if item.kind == "object" else None
            if isinstance(name, str):
                names.append(name)
        return [name for name in dict.fromkeys(names) if name and "=" not in name and name.isprintable()]

    def text(self, *keys: str) -> str:
        """The first of these members of the entry that is a string, or ""."""
        for body in (self.body, self.node):
            for key in keys:
                node = body.get(key)
                if node is not None and node.kind == "string":
                    return node.value
        return ""


def entries(found: list[Found], client: Client, stem: str) -> list[Entry]:
    """The servers among `found`; `stem` names a bare entry. Members that are no objects are left out."""
    result = []
    for path, holds, node in found:
        if holds == "map" and node.kind == "object":
            named = [(key, child) for key, child, _ in node.members]
        elif holds == "array" and node.kind == "array":
            named = [(_name(child), child) for child in node.items]
        elif holds == "bare":
            named = [(stem, node)] if _looks_started(node) else []
        else:
            continue
        for name, child in named:
            if child.kind == "object" and not (path == () and holds == "map" and not _looks_started(child)):
                result.append(_entry(readable(name), (*path, name), holds, child, client))
    return result


def readable(name: str) -> str:
    """A name with half characters replaced: JSON can hold them, no output can."""
    return name.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _entry(name: str, path: tuple[str, ...], holds: str, node: Node, client: Client) -> Entry:
    for shape in [SHAPES[key] for key in client.shapes]:
        body = node.get(shape.inside) if shape.inside else node
        command = body.get(shape.command) if body is not None and body.kind == "object" else None
        if body is not None and command is not None and command.kind == ("string" if shape.args else "array"):
            return Entry(name, path, holds, node, shape, body, command, body.get(shape.args) if shape.args else None)
    return Entry(name, path, holds, node, SHAPES[client.shapes[-1]], node, None, None)


def _name(node: Node) -> str:
    name = node.get("name") if node.kind == "object" else None
    return name.value if name is not None and name.kind == "string" else ""


def _looks_started(node: Node) -> bool:
    return node.kind == "object" and any(node.get(key) is not None for key in ("command", "url", "transport"))


def is_remote(entry: Entry, client: Client) -> bool:
    """Whether the entry names a server somewhere else. A command wins over a URL unless the type says remote."""
    if entry.text("type", "transport", "protocol").lower() in REMOTE_TYPES:
        return True
    transport = entry.node.get("transport")
    bodies = [entry.node, entry.body] if transport is None else [entry.node, entry.body, transport]
    return entry.command is None and any(
        body.get(key) is not None for body in bodies for key in ("url", *client.remote)
    )


def wrapping(entry: Entry, known: frozenset[str]) -> Wrapping | None:
    """How the entry is wrapped, or None. `known` are the paths at which this host has or had the wrapper.

    A program of the wrapper's name elsewhere counts as well, since wrapping it again would nest two; whether that place
    may be trusted is for the decision.
    """
    command, items = entry.command, entry.args
    if command is None:
        return None
    if command.kind == "array":
        if not command.items or not _is_wrapper(command.items[0], known):
            return None
        last = _separator(command, 1)
        return Wrapping("list", command.items[0].value, command, 0, last) if last else None
    if items is None or items.kind != "array":
        return None
    if _is_wrapper(command, known):
        last = _separator(items, 0)
        return Wrapping("command", command.value, items, 0, last) if last is not None else None
    if os.path.basename(command.value) in OUTER_WRAPPERS:
        for index, item in enumerate(items.items):
            if item.kind == "string" and item.value in known:
                last = _separator(items, index + 1)
                return Wrapping("nested", item.value, items, index, last) if last else None
    return None


def _is_wrapper(node: Node, known: frozenset[str]) -> bool:
    return node.kind == "string" and (node.value in known or os.path.basename(node.value) == WRAPPER_NAME)


def _separator(items: Node, first: int) -> int | None:
    """The index of the first bare `--` from `first` on that has a string after it."""
    for index in range(first, len(items.items) - 1):
        if items.items[index].kind != "string":
            return None
        if items.items[index].value == "--":
            return index if items.items[index + 1].kind == "string" else None
    return None
