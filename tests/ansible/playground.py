"""What the tests of the playbooks share: a user with client files, the outcome of a run, the digest of a tree."""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import pwd
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANSIBLE = pathlib.Path(sys.executable).parent
SYSTEM_PYTHON = "/usr/bin/python3"

FAKE_SERVER = '''
"""A stdio MCP server that answers a handshake; with `needs PATH` it reads that file first, as its settings."""
import json, sys
if "needs" in sys.argv:
    open(sys.argv[sys.argv.index("needs") + 1]).read()
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = {"tools": [{"name": "note", "inputSchema": {"type": "object"}}]}
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": "fake", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
'''


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def sshd_running(config: pathlib.Path, port: int, enter: Sequence[str] = ()) -> Iterator[None]:
    """An sshd that listens on loopback, started by the command `enter` where one is given."""
    server = subprocess.Popen([*enter, "/usr/sbin/sshd", "-D", "-e", "-p", str(port), "-f", str(config)],
                              stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield
    server.terminate()
    server.wait()


class Run(NamedTuple):
    """One ansible-playbook: its status, all it said, and the recap by host."""

    status: int
    text: str
    recap: dict[str, dict[str, int]]

    def changed_tasks(self) -> list[tuple[str, str]]:
        """(task, host) for each result that says changed, in order."""
        found, task = [], ""
        for line in self.text.splitlines():
            heading = re.match(r"TASK \[(.*)\] \**$", line)
            if heading:
                task = heading[1]
            said = re.match(r"changed: \[([^\]]*)\]", line)
            if said:
                found.append((task, said[1]))
        return found


class Person(NamedTuple):
    """A user of this host, made for one test, with the client files of a developer."""

    name: str
    home: pathlib.Path

    def write(self, path: str, content: str | bytes, mode: int = 0o600) -> pathlib.Path:
        entry = pwd.getpwnam(self.name)
        place = self.home / path
        for folder in reversed(place.relative_to(self.home).parents[:-1]):
            if not (self.home / folder).exists():
                (self.home / folder).mkdir()
                os.chown(self.home / folder, entry.pw_uid, entry.pw_gid)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.chmod(place, mode)
        os.chown(place, entry.pw_uid, entry.pw_gid)
        return place

    def server(self, *more: str, env: dict | None = None) -> dict:
        """An entry that starts the fake server; `more` are its arguments."""
        script = self.write("servers/notes.py", FAKE_SERVER, 0o644)
        entry = {"command": SYSTEM_PYTHON, "args": [str(script), *more]}
        return {**entry, "env": env} if env else entry

    def claude(self, servers: dict) -> pathlib.Path:
        return self.write(".claude.json", json.dumps({"numStartups": 3, "mcpServers": servers}, indent=2))


def tree(*folders: pathlib.Path) -> dict[str, str]:
    """Owner and mode of everything below these folders, and each file's time and digest of its content.

    A folder's own time is left out: proofs make files and remove them.
    """
    found = {}
    for folder in folders:
        for path in [folder, *folder.rglob("*")] if folder.exists() else []:
            state = path.lstat()
            found[str(path)] = f"{state.st_uid}:{state.st_gid} {state.st_mode:o}"
            if path.is_file() and not path.is_symlink():
                found[str(path)] += f" {state.st_mtime_ns} {hashlib.sha256(path.read_bytes()).hexdigest()}"
    return found
