"""Writes a plan, remembers what was there, and gives it back. Interrupted at any moment, the next run goes on.

The record is written before anything else and goes last; it holds the old bytes, for root alone.
"""
from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import stat
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any, Callable, Optional

from .. import safety
from ..host.boot import entries
from ..host.read import below, plain, resolve
from . import words
from .plan import KINDS, Edit, Plan, content, decoded, unmet

FOLDER = "/var/lib/mcp-confine"
RECORD = "landlock-boot.json"
SECONDS = 900  # for one command; update-grub asks every disk for other systems
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
Record = dict[str, Any]
Run = Callable[[Sequence[str]], None]


class BootRefused(RuntimeError):
    """It was not done, or was taken back; the text names the path or command, the reason and the next step."""


def run(command: Sequence[str]) -> None:
    """Raises `BootRefused` with the last line that the command said."""
    said = ""
    try:
        done = subprocess.run(command, env={**os.environ, "PATH": PATH, "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False, cwd="/")
        if done.returncode == 0:
            return
        said = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2] or f"status {done.returncode}"
    except subprocess.TimeoutExpired:
        said = f"did not end within {SECONDS} s"
    except OSError as problem:
        said = problem.strerror or str(problem)
    raise BootRefused(f"`{' '.join(command)}` failed: {plain(said)}")


def recorded(root: str = "/") -> Record | None:
    """What an earlier run wrote: {"phase": "writing" or "written", "boot": id, "active": [name], "lsm", "way", …}."""
    path = f"{FOLDER}/{RECORD}"
    try:
        held = content(root, path)
        return None if held is None else dict(json.loads(held))
    except (OSError, ValueError) as problem:
        raise BootRefused(f"{path}: cannot be read ({plain(str(problem))}); nothing was changed") from None


def apply(wanted: Plan, boot: str, active: list[str], root: str = "/", run: Run = run) -> None:
    """Does what the plan says and looks that it took. Raises `BootRefused`, with the old state back in place.

    `boot` is the identity of the running boot and `active` what is on in it, to compare with after the next one.
    """
    with _locked(root):
        earlier = recorded(root) or {"files": {}}
        files = {row.path: _row(row) for row in (*wanted.edits, *wanted.watched)}
        record = {"phase": "writing", "boot": boot, "active": active, "lsm": wanted.lsm, "way": wanted.way,
                  "files": {**files, **earlier["files"]}, "undo_first": wanted.undo_first,
                  "undo_last": wanted.undo_last}
        _remember(root, record)
        try:
            for edit in wanted.edits:
                _put(root, edit.path, edit.after)
            for command in wanted.commands:
                run(command)
            problem = unmet(wanted, root)
            if problem:
                raise BootRefused(problem)
        except (BootRefused, OSError) as failure:
            raise BootRefused(f"{_told(failure)}; {_back(root, run)}") from None
        _remember(root, {**record, "phase": "written"})


def finish(root: str = "/") -> None:
    """For a run that was interrupted when all was done but the last line of its record."""
    with _locked(root):
        record = recorded(root)
        if record is not None:
            _remember(root, {**record, "phase": "written"})


def undoing(root: str = "/") -> tuple[Record | None, tuple[Edit, ...]]:
    """The record and the edits that give back what it tells of; (None, ()) when there is nothing. Writes nothing.

    A file that differs only in our word gets its old bytes; from one that was changed since, only the word goes.
    """
    record = recorded(root)
    if record is None:
        return None, ()
    lsm, edits = record["lsm"], []
    for path, row in record["files"].items():
        before = None if row["before"] is None else base64.b64decode(row["before"])
        now = content(root, path)
        if now == before or now is None:
            continue
        if before is None or decoded(before).startswith(words.HEAD):
            if not decoded(now).startswith(words.HEAD):
                raise BootRefused(f"{path}: somebody else's text is there now; nothing was taken back")
            edits.append(Edit(path, row["kind"], now, None))
        elif words.alike(decoded(now), decoded(before)):
            edits.append(Edit(path, row["kind"], now, before))
        elif row["kind"] != "watched":  # there the command undoes what it did
            old = next(reversed(words.found(decoded(before))), None)
            edits.append(_changed(path, row["kind"], now, old))
    for path in entries(root) if record["way"] == "systemd-boot" else []:
        now = content(root, path) or b""
        if path not in record["files"] and words.found(decoded(now)) == [lsm]:  # of a kernel that came since
            edits.append(_changed(path, "entry", now, None))
    return record, tuple(edit for edit in edits if edit.before != edit.after)


def _changed(path: str, kind: str, now: bytes, lsm: Optional[str]) -> Edit:
    try:
        return Edit(path, kind, now, KINDS[kind](decoded(now), lsm).encode("utf-8", "surrogateescape"))
    except words.NotUnderstood as problem:
        raise BootRefused(f"{path}: {problem}; nothing was taken back") from None


def undo(root: str = "/", run: Run = run) -> None:
    """Gives everything back and forgets it. Raises `BootRefused`; another run goes on where this one stopped."""
    if recorded(root) is None:
        return
    with _locked(root):
        _undo(root, run)
    with contextlib.suppress(OSError):  # others keep something there
        os.rmdir(below(root, FOLDER))


def _undo(root: str, run: Run) -> None:
    """The files go back whatever a command says; the record stays until all went well."""
    record, edits = undoing(root)
    failures = _each(record["undo_first"] if record else (), run)
    try:
        for edit in edits:
            _put(root, edit.path, edit.after)
        failures += _each(record["undo_last"] if record else (), run)
        for edit in edits:  # kernelstub writes its configuration anew
            if edit.after is not None and content(root, edit.path) != edit.after:
                _put(root, edit.path, edit.after)
        if failures:
            raise BootRefused("; ".join(failures))
        with contextlib.suppress(FileNotFoundError):
            os.unlink(below(root, f"{FOLDER}/{RECORD}"))
        safety.sync_folder(below(root, FOLDER))
    except (BootRefused, OSError) as failure:
        raise BootRefused(f"{_told(failure)}; run this again when that is mended") from None


def _each(commands: Sequence[Sequence[str]], run: Run) -> list[str]:
    failures = []
    for command in commands:
        try:
            run(command)
        except BootRefused as failure:
            failures.append(str(failure))
    return failures


def _back(root: str, run: Run) -> str:
    try:
        _undo(root, run)
    except BootRefused as failure:
        return f"the files were given back as far as possible: {failure}"
    return "everything is as it was before"


def _told(failure: Exception) -> str:
    if isinstance(failure, OSError):
        return f"{failure.filename or 'a file'}: {failure.strerror}"
    return str(failure)


def _row(edit: Edit) -> dict[str, str | None]:
    held = None if edit.before is None else base64.b64encode(edit.before).decode()
    return {"kind": edit.kind, "before": held}


def _put(root: str, path: str, held: bytes | None) -> None:
    """The file whole, with the mode it has; through links, inside `root`."""
    place = below(root, resolve(root, path))
    beside = f"{os.path.basename(place)}.new"
    for name in os.listdir(os.path.dirname(place)) if os.path.isdir(os.path.dirname(place)) else []:
        if name.startswith(beside) and name[len(beside):].isdigit():  # of a run that was killed
            os.unlink(os.path.join(os.path.dirname(place), name))
    if held is None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(place)
        safety.sync_folder(os.path.dirname(place))
        return
    try:
        mode = stat.S_IMODE(os.stat(place).st_mode)
    except FileNotFoundError:
        mode = 0o644
        safety.make_folder(os.path.dirname(place))
    safety.write(place, held, mode)


def _remember(root: str, record: Record) -> None:
    path = below(root, f"{FOLDER}/{RECORD}")
    try:
        safety.write(path, json.dumps(record, indent=1).encode(), 0o600)
    except OSError as problem:
        raise BootRefused(f"{path}: {problem.strerror}; nothing was changed") from None


@contextlib.contextmanager
def _locked(root: str) -> Iterator[None]:
    """Holds the record against another run at the same time; only root may look into its folder."""
    folder = below(root, FOLDER)
    try:
        safety.make_folder(os.path.dirname(folder))
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as problem:
        raise BootRefused(f"{folder}: {problem.strerror}; nothing was changed") from None
    try:
        if os.fstat(descriptor).st_uid != os.geteuid():
            raise BootRefused(f"{folder}: belongs to somebody else; nothing was changed")
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
