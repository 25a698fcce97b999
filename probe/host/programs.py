"""Where a program is found by those who start MCP servers, and where it comes from."""
from __future__ import annotations

import os
import stat
import sys
from typing import Any

from .read import Fact, absent, below, exists, known, raw, resolve, text, value

SNAP_MOUNTS = ("/snap", "/var/lib/snapd/snap")
STANDARD = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
# Programs of clients, as the kernel shows them in /proc/PID/comm (15 characters).
CLIENTS = (
    "claude",
    "claude-desktop",
    "code",
    "code-insiders",
    "codium",
    "cursor",
    "windsurf",
    "zed",
    "zed-editor",
    "codex",
    "gemini",
    "opencode",
    "goose",
    "goosed",
    "amp",
    "kiro",
    "mcpproxy",
    "cline",
    "lmstudio",
    "LM Studio",
)
SHIMS = ("/shims/", "/.volta/bin/", "/.proto/bin/")


def search_path(root: str, home: str) -> Fact:
    """The folders in which clients look for programs: {"folders": […], "of": […]}, the most certain first.

    A running client's own PATH decides. Without one: this process's, then what a login here would have, then the
    folders that installers add to a user's PATH.
    """
    folders: list[str] = []
    sources: list[str] = []
    running = _running_clients() if root == "/" else []
    for name, path in running:
        folders += path.split(":")
        sources.append(f"running {name}")
    if not running:
        if root == "/":
            folders += os.environ.get("PATH", "").split(":")
            sources.append("this process")
        for line in (value(text(root, "/etc/environment")) or "").splitlines():
            if line.startswith("PATH="):
                folders += line[5:].strip("\"'").split(":")
                sources.append("/etc/environment")
        folders += [f"{home}/.local/bin", f"{home}/bin", *STANDARD]
        folders += [f"{mount}/bin" for mount in SNAP_MOUNTS]
        sources.append("the usual folders")
    return known({"folders": [folder for folder in dict.fromkeys(folders) if folder.startswith("/")],
                  "of": list(dict.fromkeys(sources))}, ", ".join(dict.fromkeys(sources)))


def _running_clients() -> list[tuple[str, str]]:
    """(name, PATH) of this user's running clients; only PATH is taken out of their environments."""
    found = []
    me = os.geteuid()
    try:
        processes = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    for process in processes:
        try:
            if os.stat(f"/proc/{process}").st_uid != me:
                continue
            name = raw("/", f"/proc/{process}/comm", 64).decode("utf-8", "replace").strip()
            if name not in CLIENTS:
                continue
            for variable in raw("/", f"/proc/{process}/environ", 1 << 20).split(b"\0"):
                if variable.startswith(b"PATH="):
                    found.append((name, variable[5:].decode("utf-8", "replace")))
        except OSError:
            continue
    return found


def interpreter() -> str:
    """A Python that this user can start: the running one may lie in another user's home."""
    choices = (sys.executable, "/usr/bin/python3", "/usr/libexec/platform-python", "/usr/local/bin/python3")
    return next((path for path in choices if path and os.access(path, os.X_OK)), sys.executable)


class Programs:
    """Programs by name, as clients find them; looks for the search path once."""

    def __init__(self, root: str, home: str) -> None:
        self.root, self.path = root, search_path(root, home)

    def all(self, name: str) -> list[dict[str, Any]]:
        """Every executable of that name, in the order of the search path."""
        found: list[dict[str, Any]] = []
        for folder in self.path["value"]["folders"]:
            path = os.path.join(folder, name)
            seen = program(self.root, path) if value(exists(self.root, path)) else None
            if seen and not any(row["resolved"] == seen["resolved"] and not seen["snap"] for row in found):
                found.append(seen)
        return found

    def first(self, name: str) -> Fact:
        """The program that a client starts under that name."""
        for row in self.all(name):
            return known(row, row["path"])
        return absent(f"{name} in {self.path['how']}")


def program(root: str, path: str) -> dict[str, Any] | None:
    """{"path", "resolved", "snap", "gains_rights", "shim"}; None when it is nothing that could be started."""
    resolved = resolve(root, path)
    try:
        state = os.stat(below(root, resolved))
    except (OSError, ValueError):
        # /snap/bin/docker leads to /usr/bin/snap, which a bare tree or a hardened unit may not show.
        if os.path.basename(resolved) != "snap":
            return None
        state = None
    if state is not None and not (stat.S_ISREG(state.st_mode) and state.st_mode & 0o111):
        return None
    return {
        "path": path,
        "resolved": resolved,
        "snap": from_snap(path, resolved),
        "gains_rights": bool(state and state.st_mode & (stat.S_ISUID | stat.S_ISGID))
        or _has_capabilities(root, resolved),
        "shim": any(part in resolved for part in SHIMS),
    }


def from_snap(path: str, resolved: str) -> bool:
    """Started by snap: its name lies among snap's commands, or the file itself below snap's mounts."""
    folders = tuple(f"{mount}/" for mount in SNAP_MOUNTS)
    return path.startswith(folders) or resolved.startswith(folders) or os.path.basename(resolved) == "snap"


def _has_capabilities(root: str, path: str) -> bool:
    try:
        return "security.capability" in os.listxattr(below(root, path))
    except (OSError, ValueError):
        return False
