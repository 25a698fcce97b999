"""The one place that writes clients' files: the old bytes or the new ones, no mixture, never over somebody's update.

The new file is swapped with the old one (renameat2, RENAME_EXCHANGE), so whatever stood there at the last moment is in
our hands and is looked at before it is thrown away: if it is not what was read, it goes back and the caller starts
again.
"""
from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
import secrets
import signal
import stat
import time
from collections.abc import Iterator

from .document import SIZE_LIMIT

AT_FDCWD = -100
RENAME_EXCHANGE = 2
MARK = ".mcp-confine-"
LOCK_WAIT = 12.0  # seconds; the clients that lock wait 10
LOCK_STALE = 10.0  # seconds after which those clients take a lock over
WRITER_WAIT = 0.5  # seconds given to a program that still has the old file open
TEMPORARY_NAME_ROOM = 200  # characters of a file's name that its temporary file keeps


class Refused(OSError):
    """A file that must not be replaced. The text says why and what to do, without the path."""


class Changed(Exception):
    """The file is no longer what was read: read it again."""


def target(path: str, roots: list[str]) -> str:
    """The file that `path` leads to through all links, if we may replace it. Raises `Refused` or `OSError`."""
    real = os.path.realpath(path)
    found = os.stat(real, follow_symlinks=False)
    if not stat.S_ISREG(found.st_mode):
        raise Refused("not a regular file")
    if found.st_uid != os.geteuid():
        raise Refused(f"belongs to uid {found.st_uid}; run this as that user")
    if not any(os.path.commonpath([real, os.path.realpath(root)]) == os.path.realpath(root) for root in roots):
        raise Refused("a link leads out of the home and the projects; edit the file where it is managed")
    if found.st_nlink > 1:
        raise Refused(f"has {found.st_nlink} hard links, which an edit would separate; make it a symbolic link instead")
    if not found.st_mode & stat.S_IWUSR:
        raise Refused("is read-only; its owner wants it as it is")
    return real


def contents(path: str) -> bytes:
    """The bytes of a regular file. Raises `Refused` for anything else or a file over the size limit, and `OSError`."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise Refused("not a regular file")
        if found.st_size > SIZE_LIMIT:
            raise Refused(f"larger than {SIZE_LIMIT >> 20} MiB")
        return file.read()


def replace(real: str, old: bytes, new: bytes) -> None:
    """Puts `new` where `old` is, with the same mode, owner and attributes. `real` comes from `target`.

    Raises `Changed` when the file is not `old` any more (nothing is done then), `Refused` and `OSError`.
    """
    folder, name = os.path.split(real)
    temporary = os.path.join(folder, f".{name[:TEMPORARY_NAME_ROOM]}{MARK}{secrets.token_hex(6)}")
    try:
        _write_like(real, temporary, new)
        if contents(real) != old:
            raise Changed
        if not _exchange(temporary, real):
            os.rename(temporary, real)
        elif _settled(temporary) != old:
            _put_back(temporary, real, new)
            raise Changed
    except FileNotFoundError:
        raise Changed from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
    _sync_folder(folder)


def sweep(real: str) -> None:
    """Removes what a killed run left beside `real`. Only with the run's own lock held."""
    folder, name = os.path.split(real)
    start = f".{name[:TEMPORARY_NAME_ROOM]}{MARK}"
    with contextlib.suppress(OSError), os.scandir(folder) as found:
        for item in found:
            if item.name.startswith(start) and item.is_file(follow_symlinks=False):
                os.unlink(item.path)


@contextlib.contextmanager
def client_lock(real: str, suffix: str) -> Iterator[None]:
    """The client's own lock, a folder beside the file, in the way the client takes it; none when `suffix` is ""."""
    if not suffix:
        yield
        return
    lock, end = real + suffix, time.monotonic() + LOCK_WAIT
    while True:
        try:
            os.mkdir(lock)
            break
        except FileExistsError:
            with contextlib.suppress(OSError):
                if time.time() - os.stat(lock).st_mtime > LOCK_STALE:
                    os.rmdir(lock)
                    continue
            if time.monotonic() > end:
                name = os.path.basename(lock)
                raise Refused(f"its client holds the lock {name}; close the client and run this again") from None
            time.sleep(0.002)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(lock)


def _write_like(model: str, path: str, data: bytes) -> None:
    like = os.stat(model)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:
        file.write(data)
        file.flush()
        if os.fstat(handle).st_gid != like.st_gid:
            try:
                os.fchown(handle, -1, like.st_gid)
            except PermissionError:
                raise Refused(f"its group {like.st_gid} is none of yours, so the group would change") from None
        os.fchmod(handle, stat.S_IMODE(like.st_mode))
        _copy_attributes(model, handle)
        os.fsync(handle)


def _copy_attributes(model: str, handle: int) -> None:
    """Extended attributes: access lists, labels, the user's own."""
    try:
        names = os.listxattr(model)
    except OSError:
        return
    for name in names:
        value = os.getxattr(model, name)
        try:
            if name in os.listxattr(handle) and os.getxattr(handle, name) == value:
                continue
            os.setxattr(handle, name, value)
        except OSError as problem:
            code = errno.errorcode.get(problem.errno or 0, "unknown error")
            raise Refused(f"its attribute {name} cannot be kept ({code})") from None


def _exchange(one: str, other: str) -> bool:
    """Swaps two files in one step; False where the kernel, the file system or the C library cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    if library.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.EPERM):
        return False
    raise OSError(code, os.strerror(code), os.path.basename(other))


def _settled(path: str) -> bytes:
    """The content of the file that was swapped out, once nobody writes to it any more through an old descriptor.

    A write lease is granted only when no other process has the file open; asking for one is the test.
    """
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        end = time.monotonic() + WRITER_WAIT
        while time.monotonic() < end:
            try:
                fcntl.fcntl(handle, fcntl.F_SETSIG, signal.SIGURG)  # the default, SIGIO, would kill us
                fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_WRLCK)
                fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_UNLCK)
                break
            except OSError as problem:
                if problem.errno != errno.EAGAIN:
                    break  # no leases here
                time.sleep(0.002)
    finally:
        os.close(handle)
    return contents(path)


def _put_back(temporary: str, real: str, ours: bytes) -> None:
    """Gives the place back to the update that we swapped out, unless a still newer one has come meanwhile."""
    if _exchange(temporary, real) and _settled(temporary) != ours:
        _exchange(temporary, real)


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        with contextlib.suppress(OSError):  # some file systems cannot; the file is in place all the same
            os.fsync(handle)
    finally:
        os.close(handle)
