"""Sockets that reach more than any file: who can connect to them is what the user may do, and more."""
from __future__ import annotations

import glob
import os
import socket
import stat
from typing import Any

from .read import Fact, errno_name, known, unknown

TIMEOUT = 1.0
# Kind, path with {run} for the user's runtime folder, what it gives: root, all that the user can do elsewhere, …
PLACES = (
    ("docker", "/var/run/docker.sock", "root"),
    ("docker", "{run}/docker.sock", "user"),
    ("docker", "{home}/.docker/desktop/docker.sock", "user"),
    ("docker", "{home}/.docker/run/docker.sock", "user"),
    ("podman", "/var/run/podman/podman.sock", "root"),
    ("podman", "{run}/podman/podman.sock", "user"),
    ("containerd", "/run/containerd/containerd.sock", "root"),
    ("incus", "/var/lib/incus/unix.socket", "root"),
    ("lxd", "/var/snap/lxd/common/lxd/unix.socket", "root"),
    ("libvirt", "/var/run/libvirt/libvirt-sock", "root"),
    ("system bus", "/run/dbus/system_bus_socket", "services"),
    ("user bus", "{run}/bus", "user"),
    ("user service manager", "{run}/systemd/private", "user"),
    ("ssh agent", "{SSH_AUTH_SOCK}", "keys"),
    ("gpg agent", "{run}/gnupg/S.gpg-agent", "keys"),
    ("X display", "/tmp/.X11-unix/X0", "screen"),
    ("wayland display", "{run}/wayland-0", "screen"),
)
# A connection would start these daemons, so the permission to connect has to do.
STARTED_BY_CONNECTION = ("incus", "lxd", "libvirt", "podman")


def facts(root: str, home: str) -> dict[str, Fact]:
    """{"reachable": [{"kind", "path", "gives", "state"}]}; `state` is "reachable" or the errno of a connection.

    Sockets that are not there are left out.
    """
    how = "a connection or the permission for one"
    if root != "/":
        return {"reachable": unknown(how, "only files were looked at")}
    return {"reachable": known([row for row in (_ask(*place) for place in places(home)) if row], how)}


def places(home: str) -> list[tuple[str, str, str]]:
    """The places to look at, their variables filled in; a place whose variable is not set is left out."""
    words = {"home": home, "run": runtime_folder(), "SSH_AUTH_SOCK": os.environ.get("SSH_AUTH_SOCK", "")}
    found = []
    for kind, pattern, gives in PLACES:
        path = pattern.format(**words)
        if path.startswith("/"):
            found.append((kind, path, gives))
    found += [("ssh agent", path, "keys") for path in sorted(glob.glob("/tmp/ssh-*/agent.*"))[:8]]
    return list(dict.fromkeys(found))


def runtime_folder() -> str:
    """The folder of this user's own sockets; what another user left in the environment does not count."""
    return f"/run/user/{os.geteuid()}"


def _ask(kind: str, path: str, gives: str) -> dict[str, Any] | None:
    state = permission(path) if kind in STARTED_BY_CONNECTION else connect(path)
    return None if state in ("ENOENT", "ENOTDIR") else {"kind": kind, "path": path, "gives": gives, "state": state}


def connect(path: str) -> str:
    """ "reachable", or the name of the errno that connect() gave."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as handle:  # a filter may refuse this already
            handle.settimeout(TIMEOUT)
            handle.connect(path)
    except socket.timeout:
        return "timeout"
    except OSError as problem:
        return errno_name(problem)
    return "reachable"


def permission(path: str) -> str:
    """ "reachable" for a socket that this user may connect to, else an errno's name."""
    try:
        if not stat.S_ISSOCK(os.stat(path).st_mode):
            return "ENOTSOCK"
    except OSError as problem:
        return errno_name(problem)
    return "reachable" if os.access(path, os.W_OK) else "EACCES"
