"""The edits that YAML files need: PyYAML says where things are (its Python loader; the C one miscounts), we splice."""
from __future__ import annotations

import json
import re
from itertools import accumulate
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

DEPTH_LIMIT = 100
_PLAIN = re.compile(rb"[A-Za-z0-9_./+@~-]+")
_SHARED = "an anchor, alias or merge key is part of its entry; write the entry out"
_TAG = "tag:yaml.org,2002:"


def read(data: bytes, paths: tuple[KeyPath, ...]) -> list[Found]:
    """The values on `paths`. Raises `EditorMissing` without PyYAML, `DocumentError` for what is no YAML document."""
    try:
        import yaml
    except ImportError:
        raise EditorMissing("reading YAML needs PyYAML (package python3-yaml)") from None
    if len(data) > TEXT_LIMIT:
        raise DocumentError(f"larger than {TEXT_LIMIT >> 20} MiB")
    mark = len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0
    try:
        text = data[mark:].decode()
        documents = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except UnicodeDecodeError:
        raise DocumentError("not UTF-8") from None
    except yaml.YAMLError as problem:
        at = getattr(problem, "problem_mark", None)
        where = f"line:column {at.line + 1}:{at.column + 1}: " if at is not None else ""
        raise DocumentError(f"{where}not YAML") from None
    except RecursionError:
        raise DocumentError("nested too deep") from None
    if len(documents) > 1:
        raise DocumentError("more than one YAML document in the file")
    if not documents or documents[0] is None:
        return []
    return _Reader(text, mark, documents[0]).found(paths)


class _Reader:
    def __init__(self, text: str, mark: int, root: Any) -> None:
        self.text, self.root, self.mark = text, root, mark
        lengths = (len(char.encode()) for char in text)
        self.offsets = None if text.isascii() else list(accumulate(lengths, initial=mark))
        self.uses: dict[int, int] = {}
        self.count(root)

    def count(self, root: Any) -> None:
        """How many places each node stands in: more than one means that an alias repeats it."""
        todo = [root]
        while todo:
            node = todo.pop()
            self.uses[id(node)] = self.uses.get(id(node), 0) + 1
            if self.uses[id(node)] == 1 and isinstance(node.value, list):
                todo += [part for item in node.value for part in (item if isinstance(item, tuple) else (item,))]

    def at(self, index: int) -> int:
        return index + self.mark if self.offsets is None else self.offsets[index]

    def found(self, paths: tuple[KeyPath, ...]) -> list[Found]:
        result = []
        for path in paths:
            node, blocked = self.root, None
            for key in path.keys:
                if getattr(node, "id", "") != "mapping":
                    break
                names = [name.value for name, _ in node.value]
                if names.count(key) > 1:
                    raise DocumentError("a key on the way to the servers is there twice")
                blocked = blocked or self.shared(node)
                node = next((value for name, value in node.value if name.value == key), None)
            else:
                found = self.node(node, 0)
                if path.holds == "map" and found.duplicate is not None:
                    raise DocumentError("a server name is there twice in one map")
                blocked = blocked or self.shared(node)
                for child in [child for _, child, _ in found.members] + found.items:
                    child.blocked = child.blocked or blocked
                result.append(Found(path.keys, path.holds, found))
        return result

    def shared(self, node: Any) -> str | None:
        merged = node.id == "mapping" and any(key.value == "<<" for key, _ in node.value)
        return _SHARED if self.uses[id(node)] > 1 or merged else None

    def node(self, source: Any, depth: int) -> Node:
        if depth > DEPTH_LIMIT:
            raise DocumentError("nested too deep")
        start, end = self.at(source.start_mark.index), self.at(source.end_mark.index)
        kind = {"mapping": "object", "sequence": "array"}.get(source.id, "scalar")
        node = Node(kind, start, end)
        node.blocked = self.shared(source)
        if source.id == "scalar":
            node.kind = "string" if source.tag == _TAG + "str" else "scalar"
            node.value = _value(source)
            if self.text[source.start_mark.index:source.start_mark.index + 1] in ("&", "!"):
                node.blocked = node.blocked or _SHARED
            return node
        if self.uses[id(source)] > 1:  # what an alias repeats is not read: it cannot be edited, and it may never end
            return node
        if source.id == "sequence":
            node.items = [self.node(item, depth + 1) for item in source.value]
            children = node.items
        else:
            seen = set()
            for key, value in source.value:
                name = key.value if isinstance(key.value, str) else ""
                node.duplicate = node.duplicate or (name if name in seen else None)
                seen.add(name)
                node.members.append((name, self.node(value, depth + 1), self.at(key.start_mark.index)))
            children = [child for _, child, _ in node.members]
        if depth and node.blocked is None:  # an entry with a shared part is not edited; the map around it is
            node.blocked = next((child.blocked for child in children if child.blocked), None)
        return node


def _value(source: Any) -> Any:
    if source.tag == _TAG + "null":
        return None
    if source.tag == _TAG + "bool":
        return source.value.lower() in ("true", "yes", "on")
    return source.value


def read_again(data: bytes, paths: tuple[KeyPath, ...], before: list[Found], splices: list[Splice]) -> list[Found]:
    """The same values after an edit; the whole file is read for it."""
    return read(data, paths)


def quote(text: str) -> bytes:
    """A double-quoted scalar, so that nothing is taken for a number, a truth or an option."""
    shown = json.dumps(text, ensure_ascii=False)
    return "".join(char if char.isprintable() else f"\\U{ord(char):08x}" for char in shown).encode()


def token(data: bytes, node: Node, array: Node | None) -> bytes:
    """The bytes of a scalar as they can stand in `array`: quoted where a flow list would read more into them."""
    raw = data[node.start:node.end]
    if b"\n" in raw or b"\r" in raw or raw[:1] in (b"|", b">"):
        raise DocumentError("its command spans several lines; write it in one")
    flow = array is None or data[array.start:array.start + 1] == b"["
    return quote(node.value) if flow and raw[:1] not in (b'"', b"'") and not _PLAIN.fullmatch(raw) else raw


def is_original_token(data: bytes, node: Node, array: Node) -> bool:
    """Whether the token that `token` put into `array` is certainly the original one."""
    return data[array.start:array.start + 1] != b"[" or data[node.start:node.start + 1] != b'"'


def prepend(data: bytes, array: Node, tokens: list[bytes]) -> Splice:
    """Puts tokens in front of the items of `array`, laid out like its first item."""
    if data[array.start:array.start + 1] == b"[":
        if not array.items:
            return Splice(array.start + 1, array.start + 1, b", ".join(tokens))
        start = array.items[0].start
        separator = b"," + line_separator(data, start)
        return Splice(start, start, b"".join(token + separator for token in tokens))
    start = _dash(data, array.items[0])
    separator = line_separator(data, start)
    if separator == b" ":
        raise DocumentError("its arguments begin on the line of another list; put them on lines of their own")
    gap = data[start + 1:array.items[0].start]
    gap = gap if gap and not gap.strip(b" ") else b" "
    return Splice(start, start, b"".join(b"-" + gap + token + separator for token in tokens))


def cut(data: bytes, array: Node, first: int, last: int) -> Splice:
    """Takes the items `first` to `last` out of `array`."""
    if data[array.start:array.start + 1] == b"[":
        start, end = array.items[first].start, array.items[last].end
        comma = re.compile(rb"(?:[ \t\r\n]|(?<=[ \t\r\n])#[^\r\n]*)*,").match(data, end)
        if last + 1 == len(array.items):
            return Splice(start, comma.end() if comma else end, b"")
        if comma is None:
            raise DocumentError("its arguments are laid out in a way that is not understood")
        following = array.items[last + 1].start
        return Splice(start, following if not data[comma.end():following].strip() else comma.end(), b"")
    start = _dash(data, array.items[first])
    if last + 1 < len(array.items):
        return Splice(start, _dash(data, array.items[last + 1]), b"")
    if first == 0:
        return Splice(start, array.items[last].end, b"[]")
    return Splice(array.items[first - 1].end, array.items[last].end, b"")


def add_list(data: bytes, body: Node, beside: str, key: str, tokens: list[bytes]) -> Splice:
    """Adds the member `key`, a flow list of tokens, after the member `beside`."""
    node, start = next((node, start) for name, node, start in body.members if name == beside)
    text = key.encode() + b": [" + b", ".join(tokens) + b"]"
    if data[body.start:body.start + 1] == b"{":
        return Splice(node.end, node.end, b"," + line_separator(data, start) + text)
    end = re.compile(rb"[^\r\n]*").match(data, node.end)
    at = end.end() if end else node.end
    line_start = max(data.rfind(b"\n", 0, start), data.rfind(b"\r", 0, start)) + 1
    column = start - (line_start or (len(BYTE_ORDER_MARK) if data.startswith(BYTE_ORDER_MARK) else 0))
    return Splice(at, at, _line_break(data) + b" " * column + text)


def drop(data: bytes, body: Node, key: str) -> Splice:
    """Takes the member `key` out, with its line or its comma."""
    index = next(index for index, member in enumerate(body.members) if member[0] == key)
    _, node, start = body.members[index]
    if data[body.start:body.start + 1] == b"{":
        if index == 0:
            raise DocumentError("its members were put in another order; take the empty args out by hand")
        return Splice(body.members[index - 1][1].end, node.end, b"")
    end = node.end if data[node.start:node.start + 1] == b"[" or not node.items else node.items[-1].end
    line_start = data.rfind(b"\n", 0, start) + 1
    if data[line_start:start].strip(b" ") or not line_start:
        raise DocumentError("its members were put in another order; take the empty args out by hand")
    line_end = line_start - (2 if data[line_start - 2:line_start] == b"\r\n" else 1)
    return Splice(line_end, end, b"")


def _dash(data: bytes, item: Node) -> int:
    """Where the `-` of a block list's item stands."""
    at = data.rfind(b"-", 0, item.start)
    if at < 0 or data[at + 1:item.start].strip(b" \t"):
        raise DocumentError("its arguments are laid out in a way that is not understood")
    return at


def _line_break(data: bytes) -> bytes:
    at = data.find(b"\n")
    return b"\r\n" if at > 0 and data[at - 1:at] == b"\r" else b"\n"
