"""The edits that TOML files need: tomlkit reads, we splice.

tomlkit keeps every byte but tells no positions. So each command and argument list is replaced by a marker in memory,
and where the markers come out in the rendered text is where the originals stand; if putting the originals back there
does not give the file's own bytes, the file is left alone.
"""
from __future__ import annotations

import json
import re
import secrets
from typing import Any

from .document import (
    BYTE_ORDER_MARK,
    TEXT_LIMIT,
    DocumentError,
    EditorMissing,
    Found,
    KeyPath,
    Node,
    Splice,
    line_separator,
)

_STRING = (
    rb'"""(?:[^\\]|\\[\s\S])*?"{3,5}|' + rb"'''[\s\S]*?'{3,5}|" + rb'"(?:[^"\\\r\n]|\\.)*"|' + rb"'[^'\r\n]*'"
)
_ITEM = re.compile(rb"(?P<string>" + _STRING + rb")|(?P<scalar>[^\s,\[\]{}\"'#]+)")
_GAP = re.compile(rb"(?:[ \t\r\n]|#[^\r\n]*)*")
_UNCLEAR = "its layout is not understood"


def read(data: bytes, paths: tuple[KeyPath, ...]) -> list[Found]:
    """The values on `paths`. Raises `EditorMissing` without tomlkit, `DocumentError` for what is not TOML."""
    try:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError
    except ImportError:
        raise EditorMissing("reading TOML needs tomlkit (package python3-tomlkit)") from None
    if len(data) > TEXT_LIMIT:
        raise DocumentError(f"larger than {TEXT_LIMIT >> 20} MiB")
    mark = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    try:
        text = data[mark:].decode()
        document = tomlkit.parse(text)
    except UnicodeDecodeError:
        raise DocumentError("not UTF-8") from None
    except (TOMLKitError, ValueError, RecursionError) as problem:
        line, column = getattr(problem, "line", None), getattr(problem, "col", None)
        where = f"line:column {line}:{column}: " if line is not None else ""
        raise DocumentError(f"{where}not TOML") from None
    found = []
    for path in paths:
        value: Any = document
        for key in path.keys:
            value = value.get(key) if hasattr(value, "get") else None
        if value is not None:
            found.append((Found(path.keys, path.holds, _node(value)), value))
    _place(document, text, mark, found)
    return [each for each, _ in found]


def _node(value: Any) -> Node:
    """The tree of a tomlkit value, without positions. `value` of an object says whether it is an inline table."""
    if hasattr(value, "items"):
        node = Node("object", 0, 0, type(value).__name__ == "InlineTable")
        node.members = [(str(key), _node(child), 0) for key, child in value.items()]
        node.extra = json.dumps(node.plain(), default=str).encode()
        return node
    if isinstance(value, list):
        node = Node("array", 0, 0)
        node.items = [_node(child) for child in value]
        return node
    plain = value.unwrap() if hasattr(value, "unwrap") else value
    if isinstance(plain, str):
        return Node("string", 0, 0, plain)
    return Node("scalar", 0, 0, plain if isinstance(plain, bool) else str(plain))


def _place(document: Any, text: str, mark: int, found: list[tuple[Found, Any]]) -> None:
    """Gives the commands and argument lists of all servers their positions."""
    import tomlkit

    marker = f"mcp-confine-{secrets.token_hex(12)}"
    marked: list[tuple[str, Node]] = []
    try:
        for (_, holds, node), value in found:
            if holds == "fact":
                continue
            tables = list(zip(node.items, value)) if holds == "array" else [
                (child, value[key]) for key, child, _ in node.members
            ]
            for child, table in tables:
                for key in ("command", "args") if child.kind == "object" else ():
                    part = child.get(key)
                    if part is not None and part.kind in ("string", "array"):
                        marked.append((table[key].as_string(), part))
                        table[key] = f"{marker}-{len(marked) - 1}."
        # tomlkit 0.15.3 and newer keep the quotes of the value that is replaced, older ones write double quotes.
        pieces = re.split(rf"""["']{marker}-(\d+)\.["']""", tomlkit.dumps(document))
    except Exception:  # tomlkit's structures for tables in several places fail in many ways; none may do harm
        raise DocumentError(_UNCLEAR) from None
    if len(pieces) != 2 * len(marked) + 1:
        raise DocumentError(_UNCLEAR)
    rebuilt, at = [], mark
    for index, piece in enumerate(pieces):
        if index % 2 == 0:
            rebuilt.append(piece)
            at += len(piece.encode())
            continue
        raw, node = marked[int(piece)]
        rebuilt.append(raw)
        node.start, node.end = at, at + len(raw.encode())
        at = node.end
        if node.kind == "array":
            _place_items(node, raw.encode())
    if "".join(rebuilt) != text:
        raise DocumentError(_UNCLEAR)


def _place_items(array: Node, raw: bytes) -> None:
    at = 1
    for item in array.items:
        gap = _GAP.match(raw, at)
        match = _ITEM.match(raw, gap.end() if gap else at)
        if match is None or (match.lastgroup == "string") != (item.kind == "string"):
            array.blocked = "its arguments are not plain strings"
            return
        item.start, item.end = array.start + match.start(), array.start + match.end()
        at = _comma(raw, match.end()) or match.end()


def _comma(raw: bytes, at: int) -> int | None:
    gap = _GAP.match(raw, at)
    end = gap.end() if gap else at
    return end + 1 if raw[end:end + 1] == b"," else None


def read_again(data: bytes, paths: tuple[KeyPath, ...], before: list[Found], splices: list[Splice]) -> list[Found]:
    """The same values after an edit; the whole file is read for it."""
    return read(data, paths)


def quote(text: str) -> bytes:
    """A basic string."""
    shown = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in shown).encode()


def token(data: bytes, node: Node, array: Node | None) -> bytes:
    """The bytes of a string as they can stand in a list: the same bytes."""
    raw = data[node.start:node.end]
    if b"\n" in raw:
        raise DocumentError("its command spans several lines; write it in one")
    return raw


def is_original_token(data: bytes, node: Node, array: Node) -> bool:
    """Whether the token that `token` put into `array` is certainly the original one."""
    return True


def prepend(data: bytes, array: Node, tokens: list[bytes]) -> Splice:
    """Puts tokens in front of the items of `array`, laid out like its first item."""
    if not array.items:
        return Splice(array.start + 1, array.start + 1, b", ".join(tokens))
    start = array.items[0].start
    separator = b"," + line_separator(data, start)
    return Splice(start, start, b"".join(token + separator for token in tokens))


def cut(data: bytes, array: Node, first: int, last: int) -> Splice:
    """Takes the items `first` to `last` out of `array`, with the separator after them."""
    start, end = array.items[first].start, array.items[last].end
    comma = _comma(data, end)
    if last + 1 == len(array.items):
        return Splice(start, comma if comma is not None else end, b"")
    if comma is None:
        raise DocumentError(_UNCLEAR)
    following = array.items[last + 1].start
    return Splice(start, following if not data[comma:following].strip() else comma, b"")


def add_list(data: bytes, body: Node, beside: str, key: str, tokens: list[bytes]) -> Splice:
    """Adds the member `key`, a list of tokens, after the member `beside`."""
    node = body.get(beside)
    if node is None:
        raise DocumentError(_UNCLEAR)
    value = b" = [" + b", ".join(tokens) + b"]"
    if body.value:
        return Splice(node.end, node.end, b", " + key.encode() + value)
    line_start = data.rfind(b"\n", 0, node.start) + 1
    line_start = line_start or (len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0)
    named = rb"([ \t]*(?:.*\.[ \t]*)?)[\"']?" + beside.encode() + rb"[\"']?[ \t]*=[ \t]*"
    before = re.fullmatch(named, data[line_start:node.start])
    end = re.compile(rb"[^\r\n]*").match(data, node.end)
    if before is None or end is None:
        raise DocumentError(_UNCLEAR)
    at = end.end()
    return Splice(at, at, _line_break(data) + before.group(1) + key.encode() + value)


def drop(data: bytes, body: Node, key: str) -> Splice:
    """Takes the member `key` out, with its line or its comma."""
    node = body.get(key)
    command = body.get("command")
    if node is None or command is None:
        raise DocumentError(_UNCLEAR)
    if body.value:
        between = data[command.end:node.start]
        if not re.fullmatch(rb"[ \t]*,[ \t]*[\"']?" + key.encode() + rb"[\"']?[ \t]*=[ \t]*", between):
            raise DocumentError("its members were put in another order; take the empty args out by hand")
        return Splice(command.end, node.end, b"")
    line_start = data.rfind(b"\n", 0, node.start) + 1
    if not line_start:
        raise DocumentError("its members were put in another order; take the empty args out by hand")
    line_end = line_start - (2 if data[line_start - 2:line_start] == b"\r\n" else 1)
    return Splice(line_end, node.end, b"")


def _line_break(data: bytes) -> bytes:
    at = data.find(b"\n")
    return b"\r\n" if at > 0 and data[at - 1:at] == b"\r" else b"\n"
