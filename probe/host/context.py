"""Where this process runs: container, WSL, hardened unit, chroot, another sandbox. Hints and proof apart."""
from __future__ import annotations

import os
import re
from typing import Any

from .folders import mount_of, parse_mounts
from .read import Fact, exists, known, names, text, then, unknown, value

FULL_RANGE = 4294967295
GVISOR_BUILD = "#1 SMP Sun Jan 10 15:06:54 PST 2016"  # the version that gVisor's sentry reports
MANAGERS = (
    "docker",
    "podman",
    "lxc",
    "lxc-libvirt",
    "systemd-nspawn",
    "oci",
    "rkt",
    "wsl",
    "proot",
    "incus",
    "buildah",
)
MARKERS = ("GITHUB_ACTIONS", "CODESPACES", "GITLAB_CI", "KUBERNETES_SERVICE_HOST", "INVOCATION_ID")


def facts(root: str = "/") -> dict[str, Fact]:
    """{"status", "container_hints", "uid_map_full", "root_mount", "wsl", "gvisor", "unit", "chroot", "snap",
    "inside_wrapper", "markers"}.

    `status`: {"no_new_privileges": bool, "seccomp": int, "filters": int or None, "bounding_set": int}.
    """
    variables = _environment(root)
    return {
        "status": then(text(root, "/proc/self/status"), status),
        "container_hints": _hints(root, variables),
        "uid_map_full": then(text(root, "/proc/self/uid_map"), _is_full),
        "root_mount": _root_mount(root),
        "wsl": _wsl(root),
        "gvisor": _gvisor(root),
        "unit": then(text(root, "/proc/self/cgroup"), unit),
        "chroot": _chroot(root),
        "snap": known(variables.get("SNAP_NAME") or None, "the variable SNAP_NAME"),
        "inside_wrapper": known(any("/mcp-confine/servers/" in variables.get(name, "") for name in ("HOME", "TMPDIR")),
                                "the variables HOME and TMPDIR"),
        "markers": known([name for name in MARKERS if name in variables], "names of variables"),
    }


def _environment(root: str) -> dict[str, str]:
    if root == "/":
        return dict(os.environ)
    content = value(text(root, "/proc/self/environ")) or ""
    return dict(word.split("=", 1) for word in content.split("\0") if "=" in word)


def status(content: str) -> dict[str, Any]:
    """The fields of /proc/self/status that tell of restrictions. Raises `ValueError` when they are not there."""
    fields = dict(re.findall(r"^(\w+):[ \t]*(.*)$", content, re.MULTILINE))
    return {"no_new_privileges": bool(int(fields["NoNewPrivs"])), "seccomp": int(fields["Seccomp"]),
            "filters": int(fields["Seccomp_filters"]) if "Seccomp_filters" in fields else None,
            "bounding_set": int(fields["CapBnd"], 16)}


def _hints(root: str, variables: dict[str, str]) -> Fact:
    """What could mean a container, in systemd's order. Files stay behind in images that boot as machines."""
    found = []
    if value(exists(root, "/proc/vz")) and not value(exists(root, "/proc/bc")):
        found.append("openvz")
    manager = value(text(root, "/run/host/container-manager")) or value(text(root, "/run/systemd/container"))
    first = value(text(root, "/proc/1/environ")) or ""
    manager = manager or next((word[10:] for word in first.split("\0") if word.startswith("container=")), None)
    manager = manager or variables.get("container")
    if manager:
        found.append(manager if manager in MANAGERS else "other")
    found += [name for name, path in (("podman", "/run/.containerenv"), ("docker", "/.dockerenv"))
              if value(exists(root, path))]
    if "KUBERNETES_SERVICE_HOST" in variables or value(exists(root, "/var/run/secrets/kubernetes.io")):
        found.append("kubernetes")
    return known(list(dict.fromkeys(found)), "/run, /proc/1, /.dockerenv and variables")


def _is_full(content: str) -> bool:
    inside, outside, count = content.split()[:3]
    return (int(inside), int(outside), int(count)) == (0, 0, FULL_RANGE)


def _root_mount(root: str) -> Fact:
    return then(text(root, "/proc/self/mountinfo", 1 << 20),
                lambda content: (mount_of(parse_mounts(content), "/") or {}).get("type"))


def _wsl(root: str) -> Fact:
    """1, 2 or None. WSL 1 has no Linux kernel at all and calls itself 4.4.0-…-Microsoft."""
    how = "/proc/sys/kernel/osrelease and binfmt_misc"
    release = text(root, "/proc/sys/kernel/osrelease")
    if release["state"] == "unknown":
        return unknown(how, release["why"])
    name = value(release) or ""
    if re.match(r"4\.4\.0-\d+-Microsoft", name):
        return known(1, how)
    interop = [entry for entry in names(root, "/proc/sys/fs/binfmt_misc") if entry.startswith("WSLInterop")]
    return known(2 if interop or "microsoft" in name.lower() else None, how)


def _gvisor(root: str) -> Fact:
    version = text(root, "/proc/version")
    return then(version, lambda line: GVISOR_BUILD in line or "gvisor" in line.lower())


def unit(content: str) -> dict[str, Any] | None:
    """The systemd unit at the end of a cgroup path: {"name", "user": of a user manager}."""
    for line in content.splitlines():
        found = re.search(r"/([\w.@:\\-]+\.service)(?:/[^/]*)?$", line)
        if found and not found.group(1).startswith("user@"):
            return {"name": found.group(1), "user": "/user@" in line}
    return None


def _chroot(root: str) -> Fact:
    """In a chroot the root folder is not that of process 1, which only root can see; and when that folder is no mount
    of its own, the mount table of the process has no line for "/"."""
    if root == "/" and _same("/proc/1/ns/mnt", "/proc/self/ns/mnt") and _same("/proc/1/root/.", "/") is False:
        return known(True, "/proc/1/root")
    return then(text(root, "/proc/self/mountinfo", 1 << 20), lambda content: _no_root(parse_mounts(content)))


def _same(one: str, other: str) -> bool | None:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return None


def _no_root(rows: list[dict[str, Any]]) -> bool:
    if not rows:
        raise ValueError("no mount at all")
    return not any(row["mount_point"] == "/" for row in rows)
