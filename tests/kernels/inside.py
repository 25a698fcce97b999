"""Runs inside a guest, as root and as an unprivileged user, and prints one JSON object of what was seen."""
from __future__ import annotations

import fcntl
import json
import os
import pwd
import socket
import struct
import subprocess
import sys

sys.path.insert(0, "/work")


# What Ubuntu's profile for unprivileged namespaces does to a program: the namespace is made, and holds no capability.
PROFILE = """abi <abi/4.0>,
profile blocked /usr/bin/bwrap flags=(attach_disconnected,mediate_deleted) {
  userns, file, mount, umount, pivot_root, network, signal, ptrace, unix,
  audit deny capability,
}
"""
LOAD = f"printf '%s' '{PROFILE}' > /tmp/profile && apparmor_parser --replace --skip-cache /tmp/profile"
WAYS_TO_BLOCK = {
    "kernel.unprivileged_userns_clone=0": (
        ["sh", "-ec", "echo 0 > /proc/sys/kernel/unprivileged_userns_clone"],
        ["sh", "-c", "echo 1 > /proc/sys/kernel/unprivileged_userns_clone"]),
    "user.max_user_namespaces=0": (
        ["sh", "-ec", "cat /proc/sys/user/max_user_namespaces > /tmp/max; echo 0 > /proc/sys/user/max_user_namespaces"],
        ["sh", "-c", "cat /tmp/max > /proc/sys/user/max_user_namespaces"]),
    "an AppArmor profile without capabilities": (["sh", "-ec", LOAD], ["apparmor_parser", "--remove", "/tmp/profile"]),
}


def bring_lo_up() -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1 | 64))  # SIOCSIFFLAGS: up, running


def run_as(name: str, *argv: str) -> subprocess.CompletedProcess:
    user = pwd.getpwnam(name)
    environment = {"HOME": user.pw_dir, "USER": name, "LOGNAME": name, "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    become = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user.pw_uid else {}
    return subprocess.run(argv, env=environment, cwd=user.pw_dir, capture_output=True, text=True, timeout=300,
                          stdin=subprocess.DEVNULL, **become)


def answer(done: subprocess.CompletedProcess):
    """A program's JSON, or what it said instead."""
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"exit": done.returncode, "said": (done.stderr or done.stdout)[-500:]}


def main() -> None:
    from probe import install

    told: dict = {"kernel": os.uname().release, "users": {}}
    try:
        with open("/sys/kernel/security/lsm") as active:
            told["lsm"] = active.read().strip()
    except OSError:
        told["lsm"] = None
    try:
        plan = install.plan("/usr/local")
        install.apply(plan)
        told["installed"], wrapper = True, plan.command
    except install.InstallRefused as refusal:
        told["installed"], told["refusal"] = False, str(refusal)
        # Where the wrapper cannot prove itself nothing is installed; it is still asked what it would say.
        wrapper = "/work/wrapper"
        with open(wrapper, "w") as script:
            script.write("#!/usr/bin/python3 -IS\nimport sys\nsys.path.insert(0, '/work/probe')\n"
                         "from confine.launch import main\nsys.exit(main())\n")
        os.chmod(wrapper, 0o755)
    for name in ("root", "person"):
        told["users"][name] = {
            "self_test": answer(run_as(name, wrapper, "--self-test", "--json")),
            "no_network": answer(run_as(name, wrapper, "--self-test", "--json", "--net", "none", "--", "true")),
            "ports": answer(run_as(name, wrapper, "--self-test", "--json", "--connect", "443", "--allow-degraded",
                                   "tcp", "--", "true")),
            "show": answer(run_as(name, wrapper, "--show", "--json", "--", "true")),
            "start": _started(run_as(name, wrapper, "--", "echo", "started")),
            "probe": answer(run_as(name, "/usr/bin/python3", "-c", "import sys; sys.path.insert(0, '/work');"
                                   "from probe.cli import main; sys.exit(main(['host', '--json']))")),
            "bwrap": _started(run_as(name, "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                                     "--unshare-all", "true")),
        }
        for told_by in told["users"][name].values():
            told_by.pop("facts", None)
    if told["installed"]:
        told["blocked"] = {name: _blocked(wrapper, *ways) for name, ways in WAYS_TO_BLOCK.items()}
    print(json.dumps(told))


def _blocked(wrapper: str, block: list[str], unblock: list[str]) -> dict:
    """What bubblewrap, the probe and the wrapper do for a user while user namespaces are blocked in one way."""
    done = subprocess.run(block, capture_output=True, text=True)
    if done.returncode:
        return {"possible": False, "said": done.stderr.strip()[-300:]}
    try:
        probe = answer(run_as("person", "/usr/bin/python3", "-c", "import sys; sys.path.insert(0, '/work');"
                              "from probe.cli import main; sys.exit(main(['host', '--json']))"))
        tested = answer(run_as("person", wrapper, "--self-test", "--json"))
        return {
            "possible": True,
            "bwrap": _started(run_as("person", "bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc",
                                     "--unshare-all", "true")),
            "start": _started(run_as("person", wrapper, "--", "echo", "started")),
            "self_test": {"passed": tested.get("passed"), "reason": tested.get("reason")},
            "codes": probe.get("mechanisms", {}).get("bubblewrap", {}).get("codes"),
            "recommended": probe.get("recommended"),
        }
    finally:
        subprocess.run(unblock, capture_output=True)


def _started(done: subprocess.CompletedProcess) -> dict:
    return {"exit": done.returncode, "stdout": done.stdout.strip(), "stderr": done.stderr.strip()[-300:]}


if __name__ == "__main__":
    bring_lo_up() if sys.argv[1] == "lo" else main()
