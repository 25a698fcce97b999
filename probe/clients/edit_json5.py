"""JSON5 differs from JSON in reading only: an edit brings nothing that JSON has not."""
from __future__ import annotations

from . import jsonc
from .document import Found, KeyPath, Splice
from .edit_json import add_list, add_member, cut, drop, is_original_token, prepend, quote, token

__all__ = [
    "add_list", "add_member", "cut", "drop", "is_original_token", "prepend", "quote", "read", "read_again", "token",
]


def read(data: bytes, paths: tuple[KeyPath, ...]) -> list[Found]:
    """The values on `paths`; see `jsonc.read`."""
    return jsonc.read(data, paths, json5=True)


def read_again(data: bytes, paths: tuple[KeyPath, ...], before: list[Found], splices: list[Splice]) -> list[Found]:
    """The same values after an edit; see `jsonc.read_again`."""
    return jsonc.read_again(data, before, splices, json5=True)
