"""What the editors of all formats share: a tree of values with their byte spans, and splices of bytes.

Spans are byte offsets into the whole file, byte-order mark included. An editor never renders a document: it
describes which bytes to replace, so all others stay the same bytes.
"""
from __future__ import annotations

from typing import Any, NamedTuple

SIZE_LIMIT = 64 << 20
TEXT_LIMIT = 4 << 20  # for formats whose libraries take seconds for each megabyte
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class DocumentError(ValueError):
    """A file that is not read or not edited. The text gives reason and place, never the file's content."""


class EditorMissing(DocumentError):
    """The library for this format is not installed; the text says which package brings it."""


class KeyPath(NamedTuple):
    """Where a file keeps servers. `*` in `keys` stands for any key.

    `holds`: "map" (server name to entry), "array" (entries with a name field), "bare" (the value is one entry) or
    "fact" (a setting that a decision needs).
    """

    keys: tuple[str, ...]
    holds: str = "map"


class Node:
    """A value and its bytes. `kind`: "object", "array", "string" or "scalar" (number, boolean, null).

    `members` are (key, node, start of the key) in the order of the file, `items` the nodes of an array. `duplicate` is
    the first key that an object has twice, or None. `blocked` says why this value must not be edited, or None.
    """

    __slots__ = ("blocked", "duplicate", "end", "extra", "items", "kind", "members", "start", "value")

    def __init__(self, kind: str, start: int, end: int, value: Any = None) -> None:
        self.kind, self.start, self.end, self.value = kind, start, end, value
        self.members: list[tuple[str, Node, int]] = []
        self.items: list[Node] = []
        self.duplicate: str | None = None
        self.blocked: str | None = None
        self.extra: Any = None  # what only the editor of the format needs

    def get(self, key: str) -> Node | None:
        """The value of the first member of that name, or None."""
        for name, node, _ in self.members:
            if name == key:
                return node
        return None

    def plain(self) -> Any:
        """The value as plain Python data."""
        if self.kind == "object":
            return {key: node.plain() for key, node, _ in self.members}
        if self.kind == "array":
            return [node.plain() for node in self.items]
        return self.value


class Found(NamedTuple):
    """A value that a `KeyPath` led to; `path` are its keys with the stars filled in."""

    path: tuple[str, ...]
    holds: str
    node: Node


class Splice(NamedTuple):
    """Replace the bytes from `start` to `end` by `text`."""

    start: int
    end: int
    text: bytes


def spliced(data: bytes, splices: list[Splice]) -> bytes:
    """`data` with all splices done. They must not overlap."""
    view, at = memoryview(data), 0
    parts: list[bytes | memoryview] = []
    for start, end, text in sorted(splices):
        if start < at:
            raise DocumentError("two edits overlap")
        parts += [view[at:start], text]
        at = end
    return b"".join([*parts, view[at:]])


def place(data: bytes, offset: int) -> str:
    """Line and column, both from 1, columns in characters."""
    line_start = data.rfind(b"\n", 0, offset) + 1
    if line_start == 0 and data.startswith(BYTE_ORDER_MARK):
        line_start = min(len(BYTE_ORDER_MARK), offset)
    column = len(data[line_start:offset].decode("utf-8", "replace")) + 1
    return f"{data.count(bytes([10]), 0, offset) + 1}:{column}"


def line_separator(data: bytes, start: int, indented: bool = True) -> bytes:
    """What to put between array items so that new ones look like the one at `start`.

    The line break and indentation before it if it begins a line, else one space.
    """
    at = start
    while at > 0 and data[at - 1] in b" \t":
        at -= 1
    if at == 0 or data[at - 1] not in b"\r\n":
        return b" "
    line_break = b"\r\n" if data[at - 2:at] == b"\r\n" else data[at - 1:at]
    return line_break + (data[at:start] if indented else b"")
