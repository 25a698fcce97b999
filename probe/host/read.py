"""One way to read a file, and one shape for what was learnt.

A fact is {"state": "known", "absent" or "unknown", "value": any JSON, "how": where it was read, "why": str or None}.
"absent" means that we looked and it is not there; "unknown" that we could not look, and `why` names the errno.
"""
from __future__ import annotations

import errno
import os
import re
import stat
from typing import Any, Callable

Fact = dict[str, Any]

LIMIT = 1 << 16  # bytes; whatever tells us something is shorter
LINKS = 40       # as the kernel
GONE = (errno.ENOENT, errno.ENOTDIR)


def known(value: Any, how: str) -> Fact:
    return {"state": "known", "value": value, "how": how, "why": None}


def absent(how: str) -> Fact:
    return {"state": "absent", "value": None, "how": how, "why": None}


def unknown(how: str, why: str) -> Fact:
    return {"state": "unknown", "value": None, "how": how, "why": why}


def from_error(problem: OSError, how: str) -> Fact:
    """`absent` when the name is not there, else `unknown` with the errno's name."""
    if problem.errno in GONE:
        return absent(how)
    return unknown(how, errno_name(problem))


def errno_name(problem: OSError) -> str:
    """The errno's name; of two names for one number, the one that the kernel's documentation uses."""
    if problem.errno == errno.EOPNOTSUPP:
        return "EOPNOTSUPP"  # Python's table says ENOTSUP
    return errno.errorcode.get(problem.errno or 0, type(problem).__name__)


def value(fact: Fact) -> Any:
    """The value of a known fact, else None."""
    return fact["value"] if fact["state"] == "known" else None


def then(fact: Fact, work: Callable[[Any], Any]) -> Fact:
    """The fact with `work` done on its value; what `work` cannot understand is unknown, not an error."""
    if fact["state"] != "known":
        return fact
    try:
        return known(work(fact["value"]), fact["how"])
    except (ValueError, IndexError, KeyError, TypeError, AttributeError):
        return unknown(fact["how"], "its content is not as expected")


def below(root: str, path: str) -> str:
    """`path`, an absolute path of the host, as a path below the tree `root`."""
    return path if root == "/" else os.path.join(root, path.lstrip("/"))


def raw(root: str, path: str, limit: int = LIMIT) -> bytes:
    """The first `limit` bytes of a regular file. Never waits for a writer. Raises `OSError`."""
    place = below(root, path)
    if "\0" in place:
        raise OSError(errno.EINVAL, "a path with a zero byte in it")
    descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        parts = []
        while limit > 0:
            part = os.read(descriptor, limit)
            if not part:
                break
            parts.append(part)
            limit -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)


def text(root: str, path: str, limit: int = LIMIT) -> Fact:
    """The file as text, undecodable bytes replaced, outer white space and zero bytes gone."""
    try:
        return known(raw(root, path, limit).decode("utf-8", "replace").strip("\0 \t\r\n"), path)
    except OSError as problem:
        return from_error(problem, path)


def number(root: str, path: str) -> Fact:
    return then(text(root, path), int)


def exists(root: str, path: str) -> Fact:
    """True or False for anything at all of that name; unknown where the way there is closed."""
    if "\0" in path:
        return unknown("a path with a zero byte in it", "EINVAL")
    try:
        os.lstat(below(root, path))
    except OSError as problem:
        return known(False, path) if problem.errno in GONE else unknown(path, errno_name(problem))
    return known(True, path)


def names(root: str, path: str, most: int = 2000) -> list[str]:
    """Names in a folder, sorted; none where it cannot be listed."""
    try:
        return sorted(os.listdir(below(root, path)))[:most]
    except (OSError, ValueError):
        return []


def resolve(root: str, path: str) -> str:
    """`path` with all links followed, inside `root`: an absolute link in a tree leads to the tree's own root.

    Returns the last path reached when something is missing or links go in circles.
    """
    done, left = "/", [part for part in path.split("/") if part]
    for _ in range(LINKS + 4 * len(left)):
        if not left:
            break
        part = left.pop(0)
        if part in (".", ".."):
            done = os.path.dirname(done) if part == ".." else done
            continue
        here = os.path.join(done, part)
        try:
            target = os.readlink(below(root, here))
        except (OSError, ValueError):
            done = here
            continue
        left = [piece for piece in target.split("/") if piece] + left
        done = "/" if target.startswith("/") else done
    return os.path.join(done, *left) if left else done


def plain(line: str, longest: int = 300) -> str:
    """One line of foreign text, made safe to print."""
    shown = re.sub(r"[^\x20-\x7e]", "?", line.strip())
    return shown if len(shown) <= longest else shown[: longest - 3] + "..."
