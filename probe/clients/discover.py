"""The config files that exist for one user, out of the catalogue."""
from __future__ import annotations

import glob
import os
from collections.abc import Mapping
from typing import NamedTuple

from .catalogue import CLIENTS, FOLDERS, Client, Place


class ConfigFile(NamedTuple):
    """A client's file that exists. `project` is its folder for a file of project scope, else ""."""

    client: Client
    place: Place
    path: str
    project: str

    @property
    def shown(self) -> str:
        """The path as text that can be printed and sent; a name that is not UTF-8 has its bytes replaced."""
        return self.path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def config_files(
    home: str, projects: list[str], environ: Mapping[str, str], clients: list[str] | None = None
) -> list[ConfigFile]:
    """The files of these clients (all when None), each once: for the first client of the catalogue that reads it."""
    found, seen = [], set()
    for client in CLIENTS:
        if clients is not None and client.name not in clients:
            continue
        for place in client.places:
            for path, project in _candidates(place, home, projects, environ):
                real = os.path.realpath(path)
                if real not in seen and os.path.lexists(path):
                    seen.add(real)
                    found.append(ConfigFile(client, place, path, project))
    return found


def _candidates(
    place: Place, home: str, projects: list[str], environ: Mapping[str, str]
) -> list[tuple[str, str]]:
    if place.scope == "project":
        patterns = [(os.path.join(glob.escape(os.path.abspath(project)), place.path), project) for project in projects]
    else:
        patterns = [(pattern, "") for pattern in _expanded(place.path, home, environ)]
    result = []
    for pattern, project in patterns:
        paths = sorted(glob.glob(pattern)) if "*" in place.path else [pattern.replace("[[]", "[")]
        result += [(path, project) for path in paths]
    return result


def _expanded(path: str, home: str, environ: Mapping[str, str]) -> list[str]:
    """`path` with `~` and its variable filled in: the client's default place, and the one its variable names here."""
    if not path.startswith("$"):
        return [path.replace("~", glob.escape(home), 1)]
    name, slash, rest = path[1:].partition("/")
    values = [FOLDERS[name].replace("~", home, 1)] if FOLDERS[name] else []
    mine = environ.get(name, "")
    if os.path.isabs(mine) and mine not in values and _is_users(mine, home):
        values.append(mine)
    return [glob.escape(value) + slash + rest for value in values]


def _is_users(path: str, home: str) -> bool:
    """Whether a variable of this process speaks for the user: root's own would otherwise lead into root's files."""
    try:
        return path.startswith(home + "/") or os.stat(path).st_uid == os.geteuid()
    except OSError:
        return False
