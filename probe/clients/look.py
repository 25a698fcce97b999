"""What a decision needs to see of the system: where a command leads, and whether a file is under version control."""
from __future__ import annotations

import os
import shutil
import stat
import subprocess

from .decide import Program, programs

MORE_FOLDERS = ("/usr/local/bin", "/usr/bin", "/bin", "/snap/bin")
GIT_WAIT = 10  # seconds
OTHER_SYSTEMS = (".hg", ".svn", ".jj", ".bzr")


def program(argv: list[str], home: str) -> Program:
    """The first program on this command line that is setuid or from snap, else what its command leads to."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *MORE_FOLDERS, os.path.join(home, ".local", "bin")])
    first = Program()
    for index, name in enumerate(programs(argv)):
        named = argv[0] if index == 0 else name
        found = shutil.which(named, path=path) if "$" not in named else None
        if not found:
            continue
        real = os.path.realpath(found)
        snap = real.startswith("/snap/") or found.startswith("/snap/bin/") or os.path.basename(real) == "snap"
        seen = Program(real, _gains_rights(real), snap)
        if seen.setuid or seen.snap:
            return seen
        first = first if first.path else seen
    return first


def _gains_rights(path: str) -> bool:
    try:
        found = os.stat(path)
        if found.st_mode & stat.S_ISUID or (found.st_mode & stat.S_ISGID and found.st_mode & stat.S_IXGRP):
            return True
        return "security.capability" in os.listxattr(path)
    except OSError:
        return False


def tracked(real: str) -> str:
    """Which version control holds this file ("git", ...), or "". What cannot be asked counts as held."""
    folder = os.path.dirname(real)
    while True:
        if os.path.lexists(os.path.join(folder, ".git")):
            return "git" if _in_git(real) else ""
        for name in OTHER_SYSTEMS:
            if os.path.isdir(os.path.join(folder, name)):
                return name[1:]
        if folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)


def _in_git(real: str) -> bool:
    # A repository's own configuration may name programs to run; these two are what ls-files would start.
    safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
    command = ["git", *safe, "ls-files", "--error-unmatch", "--", real]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command, cwd=os.path.dirname(real), env={**environment, "GIT_OPTIONAL_LOCKS": "0"}, timeout=GIT_WAIT,
            check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        return True
    return done.returncode != 1  # 1: not tracked; 128: git could not say
