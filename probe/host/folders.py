"""The file systems under the folders that servers work in."""
from __future__ import annotations

import os
import re
from typing import Any

from .read import Fact, known, text, then, unknown, value


def facts(root: str, home: str, workspaces: list[str]) -> dict[str, Fact]:
    """{"home": mount, "workspaces": [mount]}; a mount is {"path", "mount_point", "type", "source", "options"}.

    `source` is only its kind: what stands in front of a colon or a slash may name a server and stays here.
    """
    mounts = then(text(root, "/proc/self/mountinfo", 1 << 20), parse_mounts)
    if mounts["state"] != "known":
        return {"home": mounts, "workspaces": mounts}
    table = value(mounts)
    return {
        "home": _fact(table, home),
        "workspaces": known([row for row in (mount_of(table, place) for place in workspaces) if row], mounts["how"]),
    }


def _fact(table: list[dict[str, Any]], path: str) -> Fact:
    row = mount_of(table, path)
    how = "/proc/self/mountinfo"
    return known(row, how) if row else unknown(how, "no mount covers it")


def parse_mounts(content: str) -> list[dict[str, Any]]:
    """The rows of a mountinfo file that are whole, in its order. Source: proc(5)."""
    rows = []
    for line in content.splitlines():
        left, dash, right = line.partition(" - ")
        fields, more = left.split(" "), right.split(" ")
        if not dash or len(fields) < 6 or len(more) < 2:
            continue
        options = fields[5].split(",") + (more[2].split(",") if len(more) > 2 else [])
        rows.append({"mount_point": unescape(fields[4]), "type": more[0], "source": _kind(unescape(more[1])),
                     "options": [word for word in ("ro", "noexec", "nosuid") if word in options],
                     "drvfs": any(word.startswith("aname=drvfs") for word in re.split("[,;]", ",".join(options)))})
    return rows


def unescape(word: str) -> str:
    """Mountinfo writes space, tab, newline and backslash as three octal digits."""
    return re.sub(r"\\([0-3][0-7]{2})", lambda found: chr(int(found.group(1), 8)), word)


def _kind(source: str) -> str:
    if re.fullmatch(r"[A-Za-z]:\\?.*", source):
        return "a Windows drive"
    if source.startswith("/dev/"):
        return "a block device"
    return "a remote file system" if ":" in source or source.startswith("//") else os.path.basename(source)[:40]


def mount_of(table: list[dict[str, Any]], path: str) -> dict[str, Any] | None:
    """The mount that a path lies on: the longest mount point above it, the last one of those at the same place."""
    best = None
    for row in table:
        point = row["mount_point"].rstrip("/")
        covers = path == point or path.startswith(point + "/")
        if covers and (best is None or len(point) >= len(best["mount_point"].rstrip("/"))):
            best = row
    return {"path": path, **best} if best else None
