"""User namespaces: the switches, and what really happens when one is made."""
from __future__ import annotations

import ctypes
import os
import socket
import struct
from typing import Any, Callable

from .child import steps
from .read import Fact, errno_name, known, number, text, unknown

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_SLAVE, MS_REC = 1 << 19, 1 << 14
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
STAGES = ("make user namespace", "write setgroups", "write uid_map", "write gid_map", "make mount namespace",
          "make / slave", "make network namespace", "bring lo up")
DEADLINE = 4.0
SWITCHES = {
    "apparmor_restrict": "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "unprivileged_clone": "/proc/sys/kernel/unprivileged_userns_clone",
    "most": "/proc/sys/user/max_user_namespaces",
}


def facts(root: str = "/") -> dict[str, Fact]:
    """The switches as numbers, `module_enabled` (RHEL 7), and `stages`.

    `stages` is {"passed": [stage], "failed": stage or None, "errno": name or None, "label": str or None}; the label is
    what AppArmor calls the process after the first stage, which tells of a profile that takes all capabilities away.
    """
    found = {name: number(root, path) for name, path in SWITCHES.items()}
    found["module_enabled"] = text(root, "/sys/module/user_namespace/parameters/enable")
    if root != "/":
        return {**found, "stages": unknown("staged attempt in a child", "only files were looked at")}
    said, death = steps(_try, DEADLINE)
    return {**found, "stages": known(stages(said, death), "staged attempt in a child")}


def stages(said: list[str], death: str | None) -> dict[str, Any]:
    """What a child said about its attempt, as facts. The stage during which it died is the one after its last word."""
    passed = [line[3:] for line in said if line.startswith("ok ")]
    failed = next((line[5:].rpartition(" ") for line in said if line.startswith("fail ")), None)
    label = next((line[6:] for line in said if line.startswith("label ")), None)
    left = [stage for stage in STAGES if stage not in passed]
    if failed:
        return {"passed": passed, "failed": failed[0], "errno": failed[2], "label": label}
    return {"passed": passed, "failed": left[0] if left else None, "errno": (death or "no answer") if left else None,
            "label": label}


def _try(say: Callable[[str], None]) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    uid, gid = os.geteuid(), os.getegid()

    def unshare(what: int) -> None:
        if library.unshare(what):
            raise OSError(ctypes.get_errno(), "unshare")

    def slave() -> None:
        if library.mount(b"none", b"/", None, ctypes.c_ulong(MS_SLAVE | MS_REC), None):
            raise OSError(ctypes.get_errno(), "mount")

    acts: tuple[Callable[[], None], ...] = (
        lambda: unshare(CLONE_NEWUSER),
        lambda: _write("/proc/self/setgroups", "deny"),
        lambda: _write("/proc/self/uid_map", f"0 {uid} 1"),
        lambda: _write("/proc/self/gid_map", f"0 {gid} 1"),
        lambda: unshare(CLONE_NEWNS),
        slave,
        lambda: unshare(CLONE_NEWNET),
        _loopback_up,
    )
    for stage, act in zip(STAGES, acts):
        try:
            act()
        except OSError as problem:
            say(f"fail {stage} {errno_name(problem)}")
            return
        say(f"ok {stage}")
        if stage == STAGES[0]:
            label = text("/", "/proc/self/attr/current")
            if label["state"] == "known":
                say(f"label {label['value']}")


def _write(path: str, content: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, content.encode())
    finally:
        os.close(descriptor)


def _loopback_up() -> None:
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh22x", b"lo", 0)
        flags = struct.unpack_from("16sh", fcntl.ioctl(handle, SIOCGIFFLAGS, request))[1]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack("16sh22x", b"lo", flags | IFF_UP))
