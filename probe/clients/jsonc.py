"""A span scanner for JSON as MCP clients accept it: comments, trailing commas, a byte-order mark; JSON5 when told so.

Only what lies on the wanted key paths becomes nodes. Everything else is skipped at the speed of the C scanner of the
standard library, which also judges it, so a 20 MB file costs little more than reading it as JSON does.
"""
from __future__ import annotations

import codecs
import json
import re
from typing import Any

from .document import BYTE_ORDER_MARK, SIZE_LIMIT, DocumentError, Found, KeyPath, Node, Splice, place

DEPTH_LIMIT = 200

_BLANK = rb"[ \t\r\n]+|//[^\r\n]*|/\*[^*]*\*+(?:[^/*][^*]*\*+)*/"
_GAP = re.compile(rb"(?:" + _BLANK + rb")*")
_GAP5 = re.compile(rb"(?:" + _BLANK + rb"|[\v\f]|\xc2\xa0|\xe2\x80[\xa8\xa9]|\xef\xbb\xbf)*")
_STRING = re.compile(rb'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
_STRING5 = re.compile(
    rb""""[^"\\\r\n]*(?:\\(?:\r\n|[\s\S])[^"\\\r\n]*)*"|'[^'\\\r\n]*(?:\\(?:\r\n|[\s\S])[^'\\\r\n]*)*'"""
)
_BARE_KEY5 = re.compile(rb"(?:[A-Za-z_$]|[\xc2-\xf4][\x80-\xbf]+)(?:[\w$]|[\xc2-\xf4][\x80-\xbf]+)*")
_SCALAR = re.compile(rb"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_SCALAR5 = re.compile(
    rb"true|false|null|[+-]?(?:Infinity|NaN|0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
)
_AFTER_SCALAR = re.compile(rb"[\w.+$-]")
# What can hide or be a bracket. An unclosed string or comment matches up to the end, so that a broken file takes no
# longer than a good one; that and a slash that begins no comment are found when the skipped value is judged.
_STRUCTURE = re.compile(
    rb'"[^"\\]*(?:\\[\s\S][^"\\]*)*"?|[{}\[\]]|//[^\r\n]*|/\*[^*]*(?:\*(?!/)[^*]*)*(?:\*/)?'
)
_ESCAPES5 = {b"b": "\b", b"f": "\f", b"n": "\n", b"r": "\r", b"t": "\t", b"v": "\v", b"0": "\0"}


def read(data: bytes, paths: tuple[KeyPath, ...], json5: bool = False) -> list[Found]:
    """The values on `paths`, in the order of the file; none when the file is blank or holds only comments.

    Raises `DocumentError` for what is not UTF-8, too large, not JSON, nested too deep, or has a key twice on one of the
    paths.
    """
    if len(data) > SIZE_LIMIT:
        raise DocumentError(f"larger than {SIZE_LIMIT >> 20} MiB")
    _check_encoding(data)
    return _Scanner(data, json5).document(paths)


def read_again(data: bytes, before: list[Found], splices: list[Splice], json5: bool = False) -> list[Found]:
    """The values of `before` in `data`, which is what they were read from with the splices done.

    Only these values are read. Each must end where the splices say: then what is around it are the bytes that were
    judged before, and the whole is as sound as it was. Raises `DocumentError`.
    """
    scanner, result = _Scanner(data, json5), []
    for path, holds, old in before:
        start, end = (
            at + sum(len(text) - (last - first) for first, last, text in splices if first < at)
            for at in (old.start, old.end)
        )
        node = scanner.value(start, 0)
        if node.end != end or (holds == "map" and node.duplicate is not None):
            raise DocumentError("the edit would change more than it should")
        result.append(Found(path, holds, node))
    return result


def comma_after(data: bytes, at: int) -> int | None:
    """The end of the comma that follows at `at` after blanks and comments, or None."""
    gap = _GAP5.match(data, at)
    end = gap.end() if gap else at
    return end + 1 if data[end:end + 1] == b"," else None


def _check_encoding(data: bytes) -> None:
    if data.isascii():
        return
    decoder = codecs.getincrementaldecoder("utf-8")()
    for start in range(0, len(data), 1 << 20):
        try:
            decoder.decode(data[start:start + (1 << 20)])
        except UnicodeDecodeError:
            raise DocumentError("not UTF-8") from None
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        raise DocumentError("not UTF-8") from None


class _Scanner:
    def __init__(self, data: bytes, json5: bool) -> None:
        self.data, self.json5 = data, json5
        self.gap_pattern = _GAP5 if json5 else _GAP
        self.string_pattern = _STRING5 if json5 else _STRING
        self.scalar_pattern = _SCALAR5 if json5 else _SCALAR
        self.found: list[Found] = []

    def document(self, paths: tuple[KeyPath, ...]) -> list[Found]:
        at = self.gap(len(BYTE_ORDER_MARK) if self.data.startswith(BYTE_ORDER_MARK) else 0)
        if at == len(self.data):
            return []
        end = self.walk(at, [(path.keys, path.holds) for path in paths], ())
        end = self.gap(end)
        if end != len(self.data):
            raise self.error("text after the end of the document", end)
        return self.found

    def walk(self, at: int, wanted: list[tuple[tuple[str, ...], str]], path: tuple[str, ...]) -> int:
        """Goes along the paths that are left in `wanted`; returns the end of the value at `at`."""
        if len(path) > DEPTH_LIMIT:
            raise self.error("nested too deep", at)
        here = [holds for keys, holds in wanted if not keys]
        if here:
            node = self.value(at, 0)
            for holds in here:
                self.keep(path, holds, node)
            if len(here) == len(wanted):
                return node.end
        elif not wanted or self.data[at:at + 1] != b"{":
            return self.skip(at)
        if self.data[at:at + 1] != b"{":
            return self.skip(at)
        seen: set[str] = set()
        at = self.gap(at + 1)
        while self.data[at:at + 1] != b"}":
            key, key_end = self.key(at)
            below = [(keys[1:], holds) for keys, holds in wanted if keys and keys[0] in (key, "*")]
            if below:
                if key in seen:
                    raise self.error("a key on the way to the servers is there twice", at)
                seen.add(key)
            value_at = self.colon(key_end)
            end = self.walk(value_at, below, (*path, key)) if below else self.skip(value_at)
            at = self.comma(end, b"}")
        return at + 1

    def keep(self, path: tuple[str, ...], holds: str, node: Node) -> None:
        if holds == "map" and node.duplicate is not None:
            raise self.error("a server name is there twice in one map", node.start)
        self.found.append(Found(path, holds, node))

    def value(self, at: int, depth: int) -> Node:
        """The value at `at` with all its nodes."""
        if depth > DEPTH_LIMIT:
            raise self.error("nested too deep", at)
        first = self.data[at:at + 1]
        if first == b"{":
            return self.object(at, depth)
        if first == b"[":
            node = Node("array", at, at)
            at = self.gap(at + 1)
            while self.data[at:at + 1] != b"]":
                node.items.append(self.value(at, depth + 1))
                at = self.comma(node.items[-1].end, b"]")
            node.end = at + 1
            return node
        string = self.string_pattern.match(self.data, at)
        if string:
            return Node("string", at, string.end(), self.decoded(string.group(), at))
        return Node("scalar", at, self.scalar(at), self.number(at))

    def object(self, at: int, depth: int) -> Node:
        node, seen = Node("object", at, at), set()
        at = self.gap(at + 1)
        while self.data[at:at + 1] != b"}":
            key_at = at
            key, key_end = self.key(at)
            child = self.value(self.colon(key_end), depth + 1)
            if key in seen and node.duplicate is None:
                node.duplicate = key
            seen.add(key)
            node.members.append((key, child, key_at))
            at = self.comma(child.end, b"}")
        node.end = at + 1
        return node

    def skip(self, at: int) -> int:
        """The end of the value at `at`, which is judged and forgotten."""
        if self.json5:  # its strings can hide brackets from the fast way, and such files are small
            return self.value(at, 0).end
        if self.data[at:at + 1] in (b"{", b"["):
            end = self.matching(at)
            self.judge(at, end)
            return end
        string = self.string_pattern.match(self.data, at)
        return string.end() if string else self.scalar(at)

    def matching(self, at: int) -> int:
        """Just after the bracket that closes the one at `at`."""
        data, closing = self.data, bytearray()
        for match in _STRUCTURE.finditer(data, at):
            character = data[match.start()]
            if character in b'"/':
                continue
            if character in b"{[":
                closing.append(character + 2)  # "{" and "[" stand two before "}" and "]"
            elif character != closing[-1]:
                raise self.error("a bracket is closed by the wrong one", match.start())
            else:
                closing.pop()
                if not closing:
                    return match.end()
        raise self.error("a bracket is never closed", at)

    def judge(self, start: int, end: int) -> None:
        try:
            json.loads(self.data[start:end])
        except (ValueError, RecursionError):  # comments, trailing commas, a huge integer; or really broken
            self.value(start, 0)

    def key(self, at: int) -> tuple[str, int]:
        match = self.string_pattern.match(self.data, at)
        if match:
            return self.decoded(match.group(), at), match.end()
        match = _BARE_KEY5.match(self.data, at) if self.json5 else None
        if match:
            return match.group().decode(), match.end()
        raise self.error("expected a key in quotes", at)

    def colon(self, at: int) -> int:
        at = self.gap(at)
        if self.data[at:at + 1] != b":":
            raise self.error("expected ':'", at)
        return self.gap(at + 1)

    def comma(self, at: int, closing: bytes) -> int:
        at = self.gap(at)
        character = self.data[at:at + 1]
        if character == b",":
            return self.gap(at + 1)
        if character != closing:
            raise self.error(f"expected ',' or '{closing.decode()}'", at)
        return at

    def gap(self, at: int) -> int:
        match = self.gap_pattern.match(self.data, at)
        return match.end() if match else at

    def scalar(self, at: int) -> int:
        match = self.scalar_pattern.match(self.data, at)
        if not match or _AFTER_SCALAR.match(self.data, match.end()):
            raise self.error("expected a value", at)
        return match.end()

    def number(self, at: int) -> Any:
        """A boolean, null or number. Numbers keep their text: nothing here counts with them."""
        text = self.data[at:self.scalar(at)]
        return {b"true": True, b"false": False, b"null": None}.get(text, text.decode())

    def decoded(self, token: bytes, at: int) -> str:
        if self.json5:
            return _decoded5(token)
        try:
            return json.loads(token)
        except ValueError:
            raise self.error("a string that is not one", at) from None

    def error(self, what: str, at: int) -> DocumentError:
        return DocumentError(f"line:column {place(self.data, at)}: {what}")


def _decoded5(token: bytes) -> str:
    def escaped(match: re.Match[bytes]) -> str:
        text = match.group(1)
        if text[:1] in b"xu" and len(text) > 1:
            return chr(int(text[1:], 16))
        if text in (b"\n", b"\r", b"\r\n", "\u2028".encode(), "\u2029".encode()):
            return ""
        return _ESCAPES5.get(text, text.decode())

    parts, at = [], 1
    pattern = re.compile(rb"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|\r\n|[\xc2-\xf4][\x80-\xbf]+|[\s\S])")
    for match in pattern.finditer(token, 1, len(token) - 1):
        parts += [token[at:match.start()].decode(), escaped(match)]
        at = match.end()
    text = "".join([*parts, token[at:-1].decode()])
    # A surrogate pair that was written as two escapes is one character.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
