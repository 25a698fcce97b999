"""What root may trust and where it may write: interpreters, folders, and files that appear whole or not at all."""
from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from .confine.policy import own_group

OLDEST = (3, 9)
# In the order they are asked; a distribution whose python3 is older ships a newer one beside it.
INTERPRETERS = ("/usr/bin/python3", "/usr/libexec/platform-python",
                *(f"/usr/bin/python3.{minor}" for minor in range(14, 8, -1)))
ASK = ("import sys, importlib.util as u; "
       "print(*sys.version_info[:2], u.MAGIC_NUMBER.hex(), sys.implementation.cache_tag)")
LONGEST_SHEBANG = 120  # kernels before 5.1 cut the line at 127


class InstallRefused(RuntimeError):
    """It must not or cannot be put in place; the text names the path, the reason and the next step."""


class Interpreter(NamedTuple):
    path: str  # as it goes into the first line of the script, links not resolved
    version: str
    magic: str  # what decides whether bytecode fits


def interpreter(wanted: str | None = None) -> Interpreter:
    """The Python that runs the wrapper: `wanted`, or the first of this host's that only root (or this user) can change.

    Raises `InstallRefused` with the reason for each one that was looked at.
    """
    refusals = []
    for path in [wanted] if wanted else [*INTERPRETERS, sys.executable]:
        if not path or not os.path.exists(path):
            continue
        reason = changeable_by_others(path)
        if reason is None and (len(path) > LONGEST_SHEBANG or len(path.split()) != 1):
            reason = "its path does not fit into the first line of a script"
        if reason is None:
            version, magic = _ask(path)
            if version >= OLDEST:
                return Interpreter(path, ".".join(map(str, version)), magic)
            reason = "is Python {}.{}".format(*version) if any(version) else "does not answer as a Python does"
        refusals.append(f"{path}: {reason}")
    least = ".".join(map(str, OLDEST))
    looked = "; ".join(refusals) or "none found"
    raise InstallRefused(f"no Python {least} or newer that nobody else can change: {looked}. "
                         "Install the distribution's python3")


def _ask(path: str) -> tuple[tuple[int, int], str]:
    if sys.executable and os.path.exists(sys.executable) and os.path.samefile(path, sys.executable):
        return sys.version_info[:2], f"{importlib.util.MAGIC_NUMBER.hex()} {sys.implementation.cache_tag}"
    try:
        done = subprocess.run([path, "-IS", "-c", ASK], capture_output=True, text=True, env={}, cwd="/", timeout=30,
                              check=True)
        major, minor, magic = done.stdout.strip().split(None, 2)
        return (int(major), int(minor)), magic
    except (OSError, ValueError, subprocess.SubprocessError):
        return (0, 0), ""


def changeable_by_others(path: str) -> str | None:
    """Why somebody other than root and this user could change what `path` leads to; None when nobody can.

    Follows each link and looks at every folder on the way, since whoever can write to one of them decides.
    """
    waiting, seen = [os.path.abspath(path)], set()
    while waiting:
        step = waiting.pop()
        if step in seen:
            continue
        seen.add(step)
        state, parent = os.lstat(step), os.path.dirname(step)
        if parent != step:
            waiting.append(parent)
        if state.st_uid not in (0, os.geteuid()):
            return f"{step} belongs to uid {state.st_uid}"
        if stat.S_ISLNK(state.st_mode):
            waiting.append(os.path.normpath(os.path.join(os.path.realpath(parent), os.readlink(step))))
        elif _others_write(state):
            return f"{step} can be written to by others (mode {stat.S_IMODE(state.st_mode):o})"
    return None


def _others_write(state: os.stat_result) -> bool:
    sticky = state.st_mode & stat.S_ISVTX and stat.S_ISDIR(state.st_mode)  # there only an owner renames and removes
    mode = state.st_mode
    return not sticky and bool(mode & 0o002 or (mode & 0o020 and not own_group(state.st_gid, os.geteuid())))


def refuse_unsafe_folder(folder: str, writing: bool) -> None:
    """Raises `InstallRefused` when others could change what lies in `folder`, or when it cannot be written to."""
    present = folder
    while not os.path.exists(present):
        present = os.path.dirname(present)
    reason = changeable_by_others(present)
    if reason:
        raise InstallRefused(f"{folder}: others could change what is put there: {reason}; "
                             "take their write permission away or choose another --prefix")
    if not writing:
        return
    if os.statvfs(present).f_flag & os.ST_RDONLY:
        raise InstallRefused(f"{present}: is on a read-only file system; choose a --prefix that can be written to")
    if not os.access(present, os.W_OK | os.X_OK):
        raise InstallRefused(f"{present}: cannot be written to by {os.geteuid()}; run this as root or choose another "
                             "--prefix")


def is_own(path: str, mode: int) -> bool:
    """Whether a file or folder, not a link, is there, is root's or this user's, and has exactly these permissions."""
    try:
        state = os.lstat(path)
    except OSError:
        return False
    return (not stat.S_ISLNK(state.st_mode) and state.st_uid in (0, os.geteuid())
            and stat.S_IMODE(state.st_mode) == mode)


def make_folder(path: str) -> None:
    """Makes `path` and what is missing above it, readable by all whatever the umask says."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    for step in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(step, 0o755)
            os.chmod(step, 0o755)  # noqa: S103  for all to read, as /usr/local is


def write(path: str, content: bytes, mode: int) -> None:
    """The file is the old one or the new one at any moment, and the new one is on the disk when this returns."""
    beside = f"{path}.new{os.getpid()}"
    try:
        with open(beside, "wb") as file:
            file.write(content)
            os.fchmod(file.fileno(), mode)
            file.flush()
            os.fsync(file.fileno())
        os.rename(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)
        raise
    sync_folder(os.path.dirname(path))


def sync_folder(path: str) -> None:
    sync_file(path)


def sync_file(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def unprivileged() -> Iterator[tuple[dict[str, Any], str]]:
    """Keywords for `subprocess` that make a child nobody, and an empty home that it owns; without root, oneself."""
    home = tempfile.mkdtemp(prefix="mcp-confine-")
    identity: dict[str, Any] = {}
    try:
        if os.geteuid() == 0:
            try:
                nobody = pwd.getpwnam("nobody")
                uid, gid = nobody.pw_uid, nobody.pw_gid
            except KeyError:
                uid = gid = 65534
            os.chown(home, uid, gid)
            identity = {"user": uid, "group": gid, "extra_groups": []}
        yield identity, home
    finally:
        shutil.rmtree(home, ignore_errors=True)
