"""JSON5 differs from JSON in reading only: an edit brings nothing that JSON has not."""
from __future__ import annotations

from . import jsonc
from .document import Found, KeyPath
from .edit_json import add_list, add_member, cut, drop, is_original_token, prepend, quote, token

__all__ = ["add_list", "add_member", "cut", "drop", "is_original_token", "prepend", "quote", "read", "token"]


def read(data: bytes, paths: tuple[KeyPath, ...], strict: bool = True) -> list[Found]:
    """The values on `paths`; see `jsonc.read`."""
    return jsonc.read(data, paths, json5=True, strict=strict)
