"""The variables that clients expand in commands, arguments and environment, as far as others can know them."""
from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class Unknown(LookupError):
    """A variable that only the client can fill in; the text is its name."""


class Syntax(NamedTuple):
    """`pattern` has the groups `name` and perhaps `default`; `missing` is what an unset variable gives."""

    pattern: re.Pattern[str]
    missing: str | None


_NAME = r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
_BRACES = r"\$\{" + _NAME + r"(?::-(?P<default>[^}]*))?\}"
SYNTAXES = {
    "claude": Syntax(re.compile(_BRACES), None),
    "braces": Syntax(re.compile(_BRACES), None),
    "gemini": Syntax(re.compile(r"\$(?:\{(?P<braced>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\}|" + _NAME + ")"), None),
    "editor": Syntax(re.compile(r"\$\{(?P<name>[^}]+)\}"), ""),
    "opencode": Syntax(re.compile(r"\{(?P<name>(?:env|file):[^}]*)\}"), ""),
}


def expanded(text: str, syntax: str, environ: Mapping[str, str], home: str, project: str) -> str:
    """`text` as the client would have it. Raises `Unknown` for what this process cannot know; nothing is guessed."""
    if syntax not in SYNTAXES:
        return text
    rule = SYNTAXES[syntax]

    def value(match: re.Match[str]) -> str:
        groups = match.groupdict()
        name = groups.get("braced") or groups["name"]
        if syntax in ("editor", "opencode"):
            kind, colon, rest = name.partition(":")
            if colon and kind == "env":
                return environ.get(rest, rule.missing or "")
            known = {"userHome": home, "workspaceFolder": project, "pathSeparator": "/", "/": "/"}
            if known.get(name):
                return known[name]
            raise Unknown(name)
        if name in environ:
            return environ[name]
        if groups.get("default") is not None:
            return groups["default"]
        raise Unknown(name)

    return rule.pattern.sub(value, text)
