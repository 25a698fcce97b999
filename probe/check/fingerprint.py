"""What the outcome of a proof depends on, as one number: the same number means that a proof still stands.

Not looked at is what only a start could tell: the libraries that a server loads and what a package manager fetches.
That is why a remembered proof has an age beyond which it counts for nothing.
"""
from __future__ import annotations

import hashlib
import json
import os
import shutil
from typing import Any

from ..clients.scene import POLICY_FOLDERS
from ..confine import landlock


def fingerprint(launch: dict[str, Any], variables: dict[str, str], home: str) -> str:
    """SHA-256 in hex over a row of `clients.act.launches`, the `variables` of its start, and what lies behind them.

    Behind them: the wrapper's bytes and its interpreter, every policy, the kernel and its Landlock, the user's groups,
    and the files that the command line names (which, by device, inode, size and times; of folders only which). Run it
    as the user. The values of the entry go in, so what comes out is for a file that nobody else can read.
    """
    argv, folder = launch["argv"], launch["cwd"] or home
    wrapper = _content(argv[0])
    interpreter = wrapper.partition(b"\n")[0][2:].split(b" ")[0].decode("utf-8", "replace")
    command = shutil.which(argv[argv.index("--") + 1], path=variables.get("PATH"))
    names = [interpreter, command, *argv, *(word.partition("=")[2] for word in argv)]
    parts = [
        [launch[key] for key in ("client", "file", "server")], argv, sorted(variables.items()), folder, wrapper.hex(),
        [_policies(policies.replace("~", home, 1)) for policies in POLICY_FOLDERS],
        _kernel(), os.geteuid(), sorted(os.getgroups()),
        [_state(os.path.join(folder, os.path.expanduser(name))) for name in names if name],
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _state(path: str) -> list[Any] | None:
    try:
        real = os.path.realpath(path)
        state = os.stat(real)
    except (OSError, ValueError):  # a NUL byte names no file
        return None
    which = [real, state.st_dev, state.st_ino, state.st_mode, state.st_uid, state.st_gid]
    return which if os.path.isdir(real) else [*which, state.st_size, state.st_mtime_ns, state.st_ctime_ns]


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(1 << 20)
    except OSError:
        return b""


def _policies(folder: str) -> list[tuple[str, str]]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [(name, _content(os.path.join(folder, name)).hex()) for name in names]


def _kernel() -> list[Any]:
    kernel = os.uname()
    try:
        able: list[Any] = [landlock.abi(), landlock.errata()]
    except OSError as problem:  # the start will say it better
        able = [problem.strerror]
    return [kernel.release, kernel.version, kernel.machine, *able]
