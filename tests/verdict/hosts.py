"""Hosts as recorded facts: one where all is well, and what to lay over it."""
from __future__ import annotations

import copy
import json
from typing import Any

ABSENT = {"state": "absent", "value": None, "how": "recorded", "why": None}
ACTS = ("read_canary", "write_canary", "connect_unix_socket", "signal_outside_process")


def known(value: Any, how: str = "recorded") -> dict[str, Any]:
    return {"state": "known", "value": value, "how": how, "why": None}


def unknown(why: str) -> dict[str, Any]:
    return {"state": "unknown", "value": None, "how": "recorded", "why": why}


def program(path: str, resolved: str = "", **more: Any) -> dict[str, Any]:
    row = {"path": path, "resolved": resolved or path, "snap": False, "gains_rights": False, "shim": False}
    return known({**row, **more})


def self_test(folder: str = "/home/ada", allowed: str = "allowed", opened: tuple[str, ...] = (), abi: int = 6,
              errno: str | None = "EACCES") -> dict[str, Any]:
    """A self-test's fact. `opened` are acts that were possible although forbidden."""
    stages = [{"name": "use_private_folder", "wanted": "allowed", "got": allowed,
               "errno": None if allowed == "allowed" else errno}]
    stages += [{"name": act, "wanted": "denied", "got": "allowed" if act in opened else "denied",
                "errno": None if act in opened else "EACCES"} for act in ACTS]
    passed = allowed == "allowed" and not opened
    return known({"folder": folder, "passed": passed, "abi": abi, "errno": None,
                  "reason": None if passed else "recorded", "stages": stages})


def stages(failed: str | None = None, errno: str | None = None, label: str | None = None) -> dict[str, Any]:
    from probe.host.namespaces import STAGES

    passed = list(STAGES[: STAGES.index(failed)]) if failed else list(STAGES)
    return known({"passed": passed, "failed": failed, "errno": errno, "label": label})


def run(passed: bool = True, said: str = "", label: str | None = None, bounding_set: str = "000001ffffffffff"):
    return known({"passed": passed, "exit": 0 if passed else 1, "said": said, "label": label,
                  "bounding_set": bounding_set if passed else None})


def status(seccomp: int = 0, no_new_privileges: bool = False, bounding_set: int = 0x1FFFFFFFFFF) -> dict[str, Any]:
    return known({"no_new_privileges": no_new_privileges, "seccomp": seccomp, "filters": 1 if seccomp else 0,
                  "bounding_set": bounding_set})


def endpoint(state: str = "answers", origin: str = "package", path: str = "/var/run/docker.sock", **more: Any):
    return {"path": path, "scheme": "unix", "chosen_by": "default", "state": state, "origin": origin,
            "engine": "docker" if state == "answers" else None, "version": "28.2.2" if state == "answers" else None,
            "security_options": ["name=apparmor"], "system": "Ubuntu", "errors": [], **more}


def client(origin: str = "package", path: str = "/usr/bin/docker", resolved: str = "") -> dict[str, Any]:
    return {"path": path, "resolved": resolved or path, "snap": origin == "snap", "gains_rights": False, "shim": False,
            "origin": origin}


HEALTHY: dict[str, Any] = {
    "schema": 1,
    "user": {"name": "ada", "uid": 1000, "home": "/home/ada", "root": False},
    "distribution": {"id": "debian", "version": "13", "name": "Debian GNU/Linux 13"},
    "problems": [],
    "kernel": {"release": known("6.12.48-amd64"), "version": known("#1 SMP"), "machine": known("x86_64")},
    "landlock": {"abi": known(6), "errata": known(7), "restrict": known({"stage": None, "errno": None}),
                 "self_tests": [self_test()]},
    "namespaces": {"apparmor_restrict": ABSENT, "unprivileged_clone": known(1), "most": known(63000),
                   "module_enabled": ABSENT, "stages": stages()},
    "bubblewrap": {"program": program("/usr/bin/bwrap"), "run": run(), "nested": run()},
    "apparmor": {"enabled": known(True), "label": known("unconfined"), "restrict_unconfined": ABSENT,
                 "restrict_io_uring": ABSENT, "policy_switch": unknown("EACCES"), "loaded": unknown("EACCES"),
                 "profiles": known([]), "extra_profile": known(False), "parser": program("/usr/sbin/apparmor_parser")},
    "lsm": {"active": known(["capability", "landlock", "lockdown", "yama", "apparmor"]),
            "built": known({"CONFIG_SECURITY_LANDLOCK": "y", "CONFIG_LSM": "landlock,lockdown,yama,integrity,apparmor",
                            "CONFIG_USER_NS": "y", "CONFIG_SECURITY_APPARMOR": "y"}),
            "yama_ptrace_scope": known(1), "selinux_enforcing": ABSENT, "dmesg_restrict": known(1)},
    "boot": {"parameters": known({}), "loader": known("grub", "/usr/sbin/update-grub"), "settings": known([]),
             "grub_files": known([])},
    "docker": {"clients": known([]), "endpoints": known([endpoint("ENOENT", "unknown")]), "group": ABSENT,
               "package_files": known([]), "rootlesskit": ABSENT,
               "snap": {"snapd": ABSENT, "mount": ABSENT, "files": known([]), "unit": known(False),
                        "profile": known(False), "data": known(False), "instances": known([]), "daemon": ABSENT}},
    "podman": {"program": ABSENT, "subuid": known(65536), "subgid": known(65536), "newuidmap": known(True),
               "sockets": known([])},
    "context": {"status": status(), "container_hints": known([]), "uid_map_full": known(True),
                "root_mount": known("ext4"), "wsl": known(None), "gvisor": known(False), "unit": known(None),
                "chroot": known(False), "snap": known(None), "inside_wrapper": known(False), "markers": known([])},
    "sockets": {"reachable": known([])},
    "runtimes": {"search_path": known({"folders": ["/usr/bin"], "of": ["this process"]}),
                 "node": program("/usr/bin/node"), "npx": program("/usr/bin/npx"), "bun": ABSENT, "deno": ABSENT,
                 "python3": program("/usr/bin/python3"), "uv": ABSENT, "uvx": ABSENT, "pipx": ABSENT},
    "folders": {"home": known({"path": "/home/ada", "mount_point": "/", "type": "ext4", "source": "a block device",
                               "options": [], "drvfs": False}), "workspaces": known([])},
}

# Ubuntu 24.04 as it is installed, seen by a user.
UBUNTU = {
    "distribution": {"id": "ubuntu", "version": "24.04", "name": "Ubuntu 24.04 LTS"},
    "kernel.release": known("6.8.0-85-generic"),
    "landlock.abi": known(4),
    "namespaces.apparmor_restrict": known(1),
    "namespaces.stages": stages("write setgroups", "EACCES", "unprivileged_userns (enforce)"),
    "bubblewrap.run": run(False, "bwrap: setting up uid map: Permission denied"),
    "bubblewrap.nested": unknown("bwrap itself does not work"),
}
# Docker from snap, its daemon running and this user in its group.
SNAP_DOCKER = {
    "docker.clients": known([client("snap", "/snap/bin/docker", "/usr/bin/snap")]),
    "docker.endpoints": known([endpoint(origin="snap")]),
    "docker.snap.snapd": known({"status": "active", "version": "29.3.1", "revision": "3265", "confinement": "strict",
                                "devmode": False}),
    "docker.snap.mount": known({"folder": "/snap/docker/current", "version": "29.3.1", "confinement": "strict"}),
    "docker.snap.daemon": known({"label": "snap.docker.dockerd (enforce)", "confined": True}),
}
# An engine's default container, its filter younger than 2022.
CONTAINER = {
    "context.container_hints": known(["docker"]),
    "context.status": status(2, bounding_set=0xA80425FB),
    "context.root_mount": known("overlay"),
    "lsm.active": unknown("securityfs is not mounted or is hidden"),
}


def host(*overlays: dict[str, Any], base: dict[str, Any] | None = None) -> dict[str, Any]:
    """Facts of the healthy host (or of `base`), changed at the dotted names of the overlays."""
    facts = copy.deepcopy(HEALTHY if base is None else base)
    for overlay in overlays:
        for name, value in overlay.items():
            place = facts
            *way, last = name.split(".")
            for part in way:
                place = place.setdefault(part, {})
            place[last] = copy.deepcopy(value)
    return json.loads(json.dumps(facts))


def server(name: str = "files", command: str = "npx", state: str = "unconfined", argv: list[str] | None = None,
           transport: str = "stdio", home: str = "/home/ada") -> dict[str, Any]:
    """A row as the clients' side lists it. `argv` are the real arguments of a docker server, judged there."""
    from probe.verdict.docker_arguments import judge_arguments

    row = {"client": "cursor", "file": "/home/ada/.cursor/mcp.json", "scope": "user", "server": name,
           "transport": transport, "state": state, "reason": "", "command": command, "args_masked": ["***"]}
    if argv is not None:
        row["docker_arguments"] = judge_arguments([command, *argv], home)
    return row
