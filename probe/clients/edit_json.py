"""The edits that JSON, JSONC and JSON5 files need, as splices."""
from __future__ import annotations

import json
import re

from . import jsonc
from .document import DocumentError, Found, KeyPath, Node, Splice, line_separator


def read(data: bytes, paths: tuple[KeyPath, ...]) -> list[Found]:
    """The values on `paths`; see `jsonc.read`."""
    return jsonc.read(data, paths)


def read_again(data: bytes, paths: tuple[KeyPath, ...], before: list[Found], splices: list[Splice]) -> list[Found]:
    """The same values after an edit; see `jsonc.read_again`."""
    return jsonc.read_again(data, before, splices)


def quote(text: str) -> bytes:
    """A string token."""
    return json.dumps(text).encode()


def token(data: bytes, node: Node, array: Node | None) -> bytes:
    """The bytes of a string as they can stand in `array`: here the same bytes."""
    return data[node.start:node.end]


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
    comma = jsonc.comma_after(data, end)
    if last + 1 == len(array.items):
        return Splice(start, comma if comma is not None else end, b"")
    following = array.items[last + 1].start
    if comma is None:
        raise DocumentError("a list of it has no comma between two items")
    return Splice(start, following if not data[comma:following].strip() else comma, b"")


def add_list(data: bytes, body: Node, beside: str, key: str, tokens: list[bytes]) -> Splice:
    """Adds the member `key`, a list of tokens, after the member `beside`."""
    return add_member(data, body, beside, key, b"[" + b", ".join(tokens) + b"]")


def add_member(data: bytes, body: Node, beside: str, key: str, value: bytes) -> Splice:
    """Adds the member `key` after the member `beside`, laid out like it."""
    node, start = next((node, start) for name, node, start in body.members if name == beside)
    colon = re.search(rb":[ \t]*\Z", data[start:node.start])
    text = b"," + line_separator(data, start) + quote(key) + (colon.group() if colon else b": ") + value
    return Splice(node.end, node.end, text)


def drop(data: bytes, body: Node, key: str) -> Splice:
    """Takes the member `key` out, with the comma before it (or after it, if it is the first)."""
    index = next(index for index, member in enumerate(body.members) if member[0] == key)
    _, node, start = body.members[index]
    if index:
        return Splice(body.members[index - 1][1].end, node.end, b"")
    if len(body.members) > 1:
        return Splice(start, body.members[1][2], b"")
    return Splice(start, node.end, b"")
