"""How a client would start a server: its variables filled in as far as this process can know them."""
from __future__ import annotations

import os
import re
from typing import Any

from . import mask, variables
from .discover import ConfigFile
from .entries import Entry
from .replace import Refused, contents
from .scene import project

# A line of an env file: a name, and a value that quotes may hold together.
_SETTING = re.compile(
    r"""\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|([^#]*?))\s*(?:#.*)?$""")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


def launch(file: ConfigFile, entry: Entry, home: str) -> dict[str, Any]:
    """One row of `act.launches`. Holds the values of the entry: for memory only."""
    folder = project(file, entry)
    result: dict[str, Any] = {
        "client": file.client.name, "file": file.shown, "server": entry.server, "argv": [], "env": {},
        "cwd": folder or None, "problem": None,
    }

    def filled(text: str) -> str:
        return variables.expanded(text, file.client.variables, os.environ, home, folder)

    try:
        argv = [filled(word) for word in entry.argv()]
        env = {name: filled(value) for name, value in entry.environment().items() if isinstance(value, str)}
        own = filled(entry.text("cwd", "working_dir", "working_directory"))
        from_file = filled(entry.text("envFile"))
    except variables.Unknown as problem:
        result["problem"] = f"only {file.client.title} can fill in the variable {mask.line(str(problem))}"
        return result
    if from_file:
        try:
            env = {**env_file(os.path.join(folder or home, os.path.expanduser(from_file))), **env}
        except (OSError, Refused, UnicodeDecodeError) as problem:
            reason = getattr(problem, "strerror", None) or type(problem).__name__
            result["problem"] = f"its envFile cannot be read ({reason}), and {file.client.title} starts it with that"
            return result
    result.update(argv=argv, env=env)
    if own:
        result["cwd"] = os.path.join(folder or home, own)
    return result


def env_file(path: str) -> dict[str, str]:
    """The variables of an env file, without the lines that set nothing. Raises `OSError`, `Refused`, `ValueError`."""
    found = {}
    for line in contents(path).decode("utf-8-sig").splitlines():
        match = _SETTING.match(line)
        if match:
            name, single, double, plain = match.groups()
            if double is not None:
                double = re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), double)
            found[name] = next(value for value in (single, double, plain) if value is not None)
    return found
