"""Which denials a confined command meets, seen by strace, and the policy line that would grant each."""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from typing import Any, NamedTuple

from .handshake import shake_hands

TRACED = "trace=%file,connect,bind,listen,socket,socketpair"
_LINE = re.compile(
    r"^(?:\d+\s+)?(?P<call>\w+)\((?P<arguments>.*)\)\s+= -1 (?P<errno>EACCES|EPERM|EXDEV|EAFNOSUPPORT) ")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
_WRITING = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")
WRITES = ("mkdir", "mkdirat", "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "link", "linkat",
          "symlink", "symlinkat", "mknod", "mknodat", "truncate", "creat")


class TraceUnavailable(RuntimeError):
    """No strace on this host, or it may not trace here; the text says which."""


class Denial(NamedTuple):
    """One kind of denial: what was tried, the errno, how often, and the line that would grant it ("" if none can)."""

    call: str
    target: str
    errno: str
    grant: str


def trace(argv: list[str], environment: dict[str, str], timeout: float) -> tuple[list[dict[str, Any]], int | None]:
    """Runs a confined command line under strace: its denials in the order they were met, and its exit status.

    Stdin, stdout and stderr are the caller's. `timeout` in seconds; the status is None when it ran out, which it does
    for a server that waits for its client. Raises `TraceUnavailable`.
    """
    with _Record() as record:
        server = subprocess.Popen(record.line(argv), env=environment)
        try:
            status: int | None = server.wait(timeout)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            record.end()
            server.wait()
        return record.denied(), status


def trace_handshake(argv: list[str], environment: dict[str, str], folder: str | None, timeout: float,
                    ) -> list[dict[str, Any]]:
    """What a server is denied from its start to the end of a handshake. Raises `TraceUnavailable`."""
    with _Record() as record:
        shake_hands(record.line(argv), environment, folder, timeout)
        return record.denied()


class _Record:
    """A file that strace writes to, and the processes seen in it."""

    def __enter__(self) -> _Record:
        self.folder = tempfile.mkdtemp(prefix="mcp-confine-trace-")
        self.path = os.path.join(self.folder, "calls")
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def line(self, argv: list[str]) -> list[str]:
        strace = shutil.which("strace")
        if strace is None:
            raise TraceUnavailable("strace is not installed; with it, every denied path could be named")
        return [strace, "-f", "-I", "1", "-Z", "-qq", "-s", "4096", "-e", TRACED, "-e", "signal=none", "-o", self.path,
                "--", *argv]

    def _lines(self) -> list[str]:
        try:
            with open(self.path, encoding="utf-8", errors="replace") as stream:
                return stream.readlines()
        except FileNotFoundError:
            raise TraceUnavailable("strace may not trace here (ptrace is forbidden)") from None

    def denied(self) -> list[dict[str, Any]]:
        return [denial._asdict() for denial in denials(self._lines())]

    def end(self) -> None:
        """Ends what is still traced; strace ends with the last of it."""
        for process in {line.split(None, 1)[0] for line in self._lines() if line[:1].isdigit()}:
            try:
                os.kill(int(process), signal.SIGKILL)
            except (OSError, ValueError):
                pass


def denials(lines: list[str]) -> list[Denial]:
    """What the traced lines say was denied, each kind once."""
    found: dict[Denial, None] = {}
    for line in lines:
        match = _LINE.match(line)
        if match:
            found.setdefault(_denial(match["call"], match["arguments"], match["errno"]))
    return list(found)


def _denial(call: str, arguments: str, errno: str) -> Denial:
    if call in ("socket", "socketpair"):
        kind = arguments.partition(",")[0]
        grant = {"AF_UNIX": "--unix PATH", "AF_INET": "--net any", "AF_INET6": "--net any"}.get(kind, "")
        return Denial(call, kind, errno, grant)
    port = _PORT.search(arguments)
    if port:
        return Denial(call, f"port {port[1]}", errno, f"--{'bind' if call == 'bind' else 'connect'} {port[1]}")
    path = _PATH.search(arguments)
    if not path:
        return Denial(call, arguments.partition(",")[0], errno, "")
    if "AF_UNIX" in arguments:
        return Denial(call, path[1], errno, f"--unix {path[1]}")
    writes = call in WRITES or _WRITING.search(arguments)
    if not path[1].startswith("/"):
        return Denial(call, path[1], errno, "")  # relative to a folder that the trace does not name
    # What is not there yet can only be granted through the folder that it goes into.
    place = path[1] if os.path.lexists(path[1]) else os.path.dirname(path[1])
    return Denial(call, path[1], errno, f"--{'rw' if writes else 'ro'} {place}")
