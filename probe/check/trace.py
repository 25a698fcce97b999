"""Which denials a confined command meets, seen by strace, and the policy line that would grant each."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from typing import Any, NamedTuple

TRACED = "trace=%file,connect,bind,listen,socket,socketpair"
_LINE = re.compile(
    r"^(?:\d+\s+)?(?P<call>\w+)\((?P<arguments>.*)\)\s+= -1 (?P<errno>EACCES|EPERM|EXDEV|EAFNOSUPPORT) ")
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')
_PORT = re.compile(r"sin6?_port=htons\((\d+)\)")
ALONE = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
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


def trace(
    argv: list[str], environment: dict[str, str], timeout: float, alone: bool = False
) -> tuple[list[dict[str, Any]], int | None]:
    """Runs a confined command line under strace: its denials in the order they were met, and its exit status.

    Stdin, stdout and stderr are the caller's, or, `alone`, an open pipe and nothing. `timeout` in seconds; the status
    is None when it ran out, which it does for a server that waits for its client. Raises `TraceUnavailable`.
    """
    strace = shutil.which("strace")
    if strace is None:
        raise TraceUnavailable("strace is not installed; install the package strace, or run `probe why` without it")
    folder = tempfile.mkdtemp(prefix="mcp-confine-trace-")
    output = os.path.join(folder, "calls")
    try:
        server = subprocess.Popen(
            [strace, "-f", "-Z", "-qq", "-s", "4096", "-e", TRACED, "-e", "signal=none", "-o", output, "--", *argv],
            env=environment, **(ALONE if alone else {}))  # type: ignore[call-overload]
        try:
            status: int | None = server.wait(timeout)
        except subprocess.TimeoutExpired:
            server.terminate()
            status = None
            server.wait()
        with open(output, encoding="utf-8", errors="replace") as stream:
            lines = stream.readlines()
    except FileNotFoundError:
        raise TraceUnavailable("strace may not trace here (ptrace is forbidden)") from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return [denial._asdict() for denial in denials(lines)], status


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
