"""Users of this host, and work done as one of them.

Everything that reads or writes below somebody's home, or judges what somebody's servers may do, runs here: in a
child that has become that user, so that no link in a home leads root anywhere and no root privilege flatters a result.
"""
from __future__ import annotations

import json
import os
import pwd
import select
import signal
import sys
import time
from typing import Any, Callable, NamedTuple

NO_LOGIN_SHELLS = ("nologin", "false", "sync", "shutdown", "halt")


class User(NamedTuple):
    """A user as the password database tells it; `home` is as written there, links not resolved."""

    name: str
    uid: int
    gid: int
    home: str


class WorkFailed(RuntimeError):
    """The work done as another user failed, hung or died; the text names the user and the cause, never data."""


def me() -> User:
    """The effective user. `HOME` counts when it is an absolute folder that this user owns, else the database does."""
    uid = os.geteuid()
    home = os.environ.get("HOME", "")
    try:
        entry = pwd.getpwuid(uid)
        name, gid, known = entry.pw_name, entry.pw_gid, entry.pw_dir
    except KeyError:
        name, gid, known = str(uid), os.getegid(), "/"
    try:
        own = os.path.isabs(home) and os.stat(home).st_uid == uid
    except OSError:
        own = False
    return User(name, uid, gid, home if own else known)


def named(name: str) -> User:
    """The user of that name, or `KeyError` with a text that names it."""
    if name == me().name:
        return me()
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise KeyError(f"no user {name!r} on this host") from None
    return User(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir)


def people() -> list[User]:
    """Root, if it runs this, and everybody who can log in and has a home: who may launch MCP servers here."""
    mine = me()
    if mine.uid != 0:
        return [mine]
    found = {mine.uid: mine}
    for entry in pwd.getpwall():
        login = os.path.basename(entry.pw_shell or "sh") not in NO_LOGIN_SHELLS
        if entry.pw_uid >= 1000 and entry.pw_uid != 65534 and login and os.path.isdir(entry.pw_dir):
            found.setdefault(entry.pw_uid, User(entry.pw_name, entry.pw_uid, entry.pw_gid, entry.pw_dir))
    return [found[uid] for uid in sorted(found)]


def run_as(user: User, work: Callable[..., Any], *args: Any, deadline: float = 60.0) -> Any:
    """`work(*args)` in a forked child that has become `user`; the result travels back as JSON.

    `deadline` is in seconds. HOME, USER and LOGNAME are the user's; groups are initialised; capabilities go with the
    uid. Raises `WorkFailed` when the child could not become the user, raised, was killed or did not end in time.
    """
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _child(user, work, args, writing)
    os.close(writing)
    try:
        text = _read_until(reading, time.monotonic() + deadline)
    finally:
        os.close(reading)
    if text is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        raise WorkFailed(f"{work.__name__} as {user.name} did not end within {deadline:g} s")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise WorkFailed(f"{work.__name__} as {user.name} was killed by signal {os.WTERMSIG(status)}")
    try:
        answer = json.loads(text)
    except ValueError:
        raise WorkFailed(f"{work.__name__} as {user.name} ended without an answer") from None
    if "error" in answer:
        raise WorkFailed(f"{work.__name__} as {user.name}: {answer['error']}")
    return answer["result"]


def _child(user: User, work: Callable[..., Any], args: tuple[Any, ...], writing: int) -> None:
    code = 0
    try:
        _become(user)
        answer = {"result": work(*args)}
    except BaseException as problem:  # the parent must hear of everything, SystemExit included
        # The last frame says where; a message could hold a value out of somebody's file, so only OSErrors keep theirs.
        import traceback  # only for a fault of ours

        place = traceback.extract_tb(problem.__traceback__)[-1]
        said = f": {problem}" if isinstance(problem, (OSError, KeyError)) else ""
        answer = {"error": f"{type(problem).__name__}{said} at {os.path.basename(place.filename)}:{place.lineno}"}
        code = 1
    try:
        payload = json.dumps(answer).encode()
        while payload:
            payload = payload[os.write(writing, payload):]
    finally:
        os._exit(code)


def _become(user: User) -> None:
    if os.geteuid() != user.uid:
        os.initgroups(user.name, user.gid)
        os.setresgid(user.gid, user.gid, user.gid)
        os.setresuid(user.uid, user.uid, user.uid)
    os.environ.update(HOME=user.home, USER=user.name, LOGNAME=user.name)
    os.umask(0o077)


def _read_until(reading: int, end: float) -> str | None:
    parts: list[bytes] = []
    while True:
        left = end - time.monotonic()
        if left <= 0 or not select.select([reading], [], [], left)[0]:
            return None
        part = os.read(reading, 1 << 16)
        if not part:
            return b"".join(parts).decode()
        parts.append(part)
