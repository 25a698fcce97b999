"""Podman: the program, what rootless containers need, and its sockets. No container is started."""
from __future__ import annotations

import os

from .programs import Programs
from .read import Fact, known, text, then, unknown
from .sockets import permission, runtime_folder

SOCKETS = ("{run}/podman/podman.sock", "/run/podman/podman.sock")


def facts(root: str, home: str, user: str, uid: int) -> dict[str, Fact]:
    """{"program", "subuid", "subgid": number of ids given to this user, "newuidmap": can it map, "sockets": [{…}],
    "quiet": whether the shim keeps its notice to itself}."""
    programs = Programs(root, home)
    return {
        "program": programs.first("podman"),
        "subuid": then(text(root, "/etc/subuid", 1 << 20), lambda content: ids(content, user, uid)),
        "subgid": then(text(root, "/etc/subgid", 1 << 20), lambda content: ids(content, user, uid)),
        "newuidmap": then(programs.first("newuidmap"), lambda row: row["gains_rights"]),
        "sockets": _sockets(root),
    }


def ids(content: str, user: str, uid: int) -> int:
    """How many subordinate ids the file gives to the user, by name or by number."""
    total = 0
    for line in content.splitlines():
        fields = line.split(":")
        if len(fields) == 3 and fields[0] in (user, str(uid)) and fields[2].isdigit():
            total += int(fields[2])
    return total


def _sockets(root: str) -> Fact:
    """[{"path", "state"}] of the sockets that are there; a connection would start the service, so none is made."""
    how = "the permission to connect to its sockets"
    if root != "/":
        return unknown(how, "only files were looked at")
    paths = [pattern.format(run=runtime_folder()) for pattern in SOCKETS]
    return known([{"path": path, "state": permission(path)} for path in paths if os.path.lexists(path)], how)
