"""Proofs that were seen, so that a run without a change need not start every server again.

Kept beside the wrapper, where only who installed it can write. Root's are therefore nothing that a user could forge for
their own servers; a user's own installation proves things to nobody but that user. No value of a config file is in it,
only a hash over them, which is why nobody else may read it. A memory that anybody else could have written, or that
cannot be read for another reason, is none, and everything is proved again.
"""
from __future__ import annotations

import fcntl
import json
import os
import stat
import time

from .. import safety
from ..install import library_path
from .users import Answer

SCHEMA = 1
MEMORY = "proofs.json"
LARGEST = 16 << 20  # bytes
OLDEST = 30 * 86400  # seconds; what is older is dropped


def recall(wrapper: str, max_age: float) -> dict[str, Answer]:
    """The proofs not older than `max_age` seconds, nor than `OLDEST`, by fingerprint: rows of `check.denial.check` with
    `user` and `proved_at` in seconds of the epoch. One from the future is as good as none."""
    return {mark: row for mark, row in _read(_folder(wrapper)).items() if _age(row) < min(max_age, OLDEST)}


def remember(wrapper: str, passed: list[Answer], failed: list[Answer]) -> str | None:
    """Keeps the rows of proofs seen now, each with its `fingerprint`, and drops what was kept of the same servers and
    of the failed ones. Returns why it could not, if it could not."""
    folder = _folder(wrapper)
    gone = {who(row) for row in [*passed, *failed]}
    now = {row["fingerprint"]: {key: value for key, value in row.items() if key != "fingerprint"} for row in passed}
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # against another run at the same time
            before = _read(folder)
            kept = {mark: row for mark, row in before.items() if who(row) not in gone and _age(row) < OLDEST}
            if {**kept, **now} != before:
                record = json.dumps({"schema": SCHEMA, "proofs": {**kept, **now}})
                safety.write(os.path.join(folder, MEMORY), record.encode(), 0o600)
        finally:
            os.close(lock)
    except OSError as problem:
        return f"{os.path.join(folder, MEMORY)}: {problem.strerror}; these proofs are not remembered"
    return None


def who(row: Answer) -> tuple:
    return row["user"], row["client"], row["file"], row["server"]


def _age(row: Answer) -> float:
    age = time.time() - row["proved_at"]
    return age if age >= 0 else float("inf")


def _folder(wrapper: str) -> str:
    return library_path(os.path.dirname(os.path.dirname(wrapper)))


def _read(folder: str) -> dict[str, Answer]:
    path = os.path.join(folder, MEMORY)
    try:
        if safety.changeable_by_others(folder):
            return {}
        with open(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode) or state.st_uid != os.geteuid() or state.st_mode & 0o077:
                return {}
            record = json.loads(file.read(LARGEST))
        if record["schema"] != SCHEMA:
            return {}
        return {str(mark): row for mark, row in record["proofs"].items()
                if isinstance(row["proved_at"], float) and all(isinstance(word, str) for word in who(row))
                and row["passed"] is True}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
