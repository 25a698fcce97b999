"""How a client would start a server: its variables filled in as far as this process can know them."""
from __future__ import annotations

import os
from typing import Any

from . import mask, variables
from .discover import ConfigFile
from .entries import Entry
from .scene import project


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
    except variables.Unknown as problem:
        result["problem"] = f"only {file.client.title} can fill in the variable {mask.line(str(problem))}"
        return result
    result.update(argv=argv, env=env)
    if own:
        result["cwd"] = os.path.join(folder or home, own)
    return result
