"""What this room remembers below ~/.local/state/mcp-confine/edits: enough to undo, never a value of a config file.

One file per edited config: hashes of it and of the original commands, which stay in the config behind the wrapper, and
what was added. `refused.json`: entries that failed their proof.
`wrappers.json`: every path that was ever written as a wrapper. The folder is 0700, the files 0600.
"""
from __future__ import annotations

import contextlib
import fcntl
import json
import os
import secrets
from collections.abc import Iterator
from typing import Any

SCHEMA = 1
WRAPPERS = ("/usr/local/bin/mcp-confine", "~/.local/bin/mcp-confine")


def digest(*parts: bytes) -> str:
    """SHA-256 over the parts, each with its length, in hex."""
    import hashlib  # whoever only looks does not need it

    total = hashlib.sha256()
    for part in parts:
        total.update(len(part).to_bytes(8, "big") + part)
    return total.hexdigest()


class Memory:
    """The remembered edits of one user. Reading never creates anything; a file that is broken counts as gone."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.folder = os.path.join(home, ".local", "state", "mcp-confine", "edits")

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Waits until no other run edits this user's files."""
        self._prepare()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        handle = os.open(os.path.join(self.folder, "lock"), flags, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            for name in os.listdir(self.folder):
                if name.startswith(".new-"):
                    os.unlink(os.path.join(self.folder, name))
            yield
        finally:
            os.close(handle)

    def wrappers(self) -> frozenset[str]:
        """Every path at which this host has or had the wrapper."""
        written = self._read("wrappers.json").get("paths", [])
        defaults = [path.replace("~", self.home, 1) for path in WRAPPERS]
        return frozenset([*defaults, *(path for path in written if isinstance(path, str))])

    def remember_wrapper(self, path: str) -> None:
        """Adds a path to `wrappers`."""
        known = self._read("wrappers.json").get("paths", [])
        if path not in known and path not in self.wrappers():
            self._write("wrappers.json", {"schema": SCHEMA, "paths": [*known, path]})

    def edits(self, real: str) -> dict[str, dict[str, Any]]:
        """The edits in the file `real`, by `key` of the entry."""
        entries = self._read(self._name(real)).get("entries", {})
        return entries if isinstance(entries, dict) else {}

    def hashes(self, real: str) -> tuple[str, str]:
        """The hashes of the file before the first of its edits ("" when that is gone) and after the last."""
        record = self._read(self._name(real))
        return str(record.get("before", "")), str(record.get("after", ""))

    def remember(self, real: str, entries: dict[str, dict[str, Any]], before: str, after: str) -> None:
        """Writes the edits in `real` and what `hashes` answers; removes the record when no edits are left."""
        if entries:
            record = {"schema": SCHEMA, "file": real, "before": before, "after": after, "entries": entries}
            self._write(self._name(real), record)
        else:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(os.path.join(self.folder, self._name(real)))

    def refusals(self) -> dict[str, dict[str, str]]:
        """Entries that failed their proof: {key: {"fingerprint", "reason"}}."""
        entries = self._read("refused.json").get("entries", {})
        return entries if isinstance(entries, dict) else {}

    def remember_refusals(self, entries: dict[str, dict[str, str]]) -> None:
        """Writes what `refusals` reads."""
        if entries != self.refusals():
            self._write("refused.json", {"schema": SCHEMA, "entries": entries})

    def _name(self, real: str) -> str:
        return digest(os.fsencode(real))[:32] + ".json"

    def _prepare(self) -> None:
        os.makedirs(os.path.dirname(self.folder), mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.mkdir(self.folder, 0o700)
        os.chmod(self.folder, 0o700)

    def _read(self, name: str) -> dict[str, Any]:
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                record = json.load(file)
        except (OSError, ValueError):
            return {}
        return record if isinstance(record, dict) and record.get("schema") == SCHEMA else {}

    def _write(self, name: str, record: dict[str, Any]) -> None:
        self._prepare()
        temporary = os.path.join(self.folder, ".new-" + secrets.token_hex(6))
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with open(handle, "w", encoding="utf-8") as file:
            json.dump(record, file, indent=1)
            file.flush()
            os.fsync(handle)
        os.replace(temporary, os.path.join(self.folder, name))


def key(path: tuple[str, ...], holds: str) -> str:
    """The name of an entry in the record of its file: how it is reached and the keys that lead to it."""
    return json.dumps([holds, *path])
