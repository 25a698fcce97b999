"""Work in forked children: whatever hangs, dies or changes its process does so there, and the rest goes on."""
from __future__ import annotations

import json
import os
import select
import signal
import time
from typing import Any, Callable, NamedTuple

CAPTURE = 1 << 16  # bytes of what a program printed
PATIENCE = 0.2  # seconds for a killed child to go; one that waits for a dead disk does not


class Work(NamedTuple):
    """`call()` must answer with JSON-able data within `deadline` seconds."""

    call: Callable[[], Any]
    deadline: float


class _Running(NamedTuple):
    child: int
    reading: int
    end: float
    deadline: float
    parts: list[bytes]


def gather(works: dict[str, Work]) -> dict[str, dict[str, Any]]:
    """All works side by side, each in a process group of its own: {name: {"result": …} or {"problem": text}}.

    Never raises for what a work does. A child that does not end in time is killed with all that it started.
    """
    answers: dict[str, dict[str, Any]] = {}
    running: dict[str, _Running] = {}
    for name, work in works.items():
        try:
            running[name] = _start(work)
        except OSError as problem:
            answers[name] = {"problem": f"no process could be started: {problem.strerror}"}
    try:
        while running:
            _read(running, answers)
    finally:
        for job in running.values():  # only when interrupted
            _end(job, kill=True)
    return {name: answers[name] for name in works}


def _start(work: Work) -> _Running:
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError:
        os.close(reading)
        os.close(writing)
        raise
    if child == 0:
        _child(work, writing)
    os.close(writing)
    return _Running(child, reading, time.monotonic() + work.deadline, work.deadline, [])


def _child(work: Work, writing: int) -> None:
    code = 1
    try:
        os.setsid()
        os.chdir("/")  # the caller's folder may be on a disk that does not answer, or closed to this user
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
    except OSError:
        pass  # without /dev/null we go on with the descriptors that we have
    try:
        answer: dict[str, Any] = {"result": work.call()}
        code = 0
    except BaseException as problem:  # the parent must hear of everything
        said = f": {problem.strerror}" if isinstance(problem, OSError) else ""
        answer = {"problem": f"{type(problem).__name__}{said}"}
    try:
        payload = json.dumps(answer).encode()
        while payload:
            payload = payload[os.write(writing, payload):]
    finally:
        os._exit(code)


def _read(running: dict[str, _Running], answers: dict[str, dict[str, Any]]) -> None:
    wait = max(0.0, min(job.end for job in running.values()) - time.monotonic())
    poll = select.poll()  # select() ends at descriptor 1023, and a caller may have more open
    by_descriptor = {job.reading: name for name, job in running.items()}
    for descriptor in by_descriptor:
        poll.register(descriptor, select.POLLIN)
    for descriptor, _ in poll.poll(wait * 1000 + 1):
        job = running[by_descriptor[descriptor]]
        part = os.read(descriptor, 1 << 16)
        if part:
            job.parts.append(part)
        else:
            name = by_descriptor[descriptor]
            answers[name] = _answer(running.pop(name))
    for name, job in list(running.items()):
        if time.monotonic() >= job.end:
            answers[name] = {"problem": f"did not end within {job.deadline:g} s"}
            _end(running.pop(name), kill=True)


def _answer(job: _Running) -> dict[str, Any]:
    status = _end(job, kill=False)
    try:
        answer = json.loads(b"".join(job.parts))
    except ValueError:
        died = status is not None and os.WIFSIGNALED(status)
        return {"problem": f"killed by {signal_name(os.WTERMSIG(status or 0))}" if died else "ended without an answer"}
    return answer


def _end(job: _Running, kill: bool) -> int | None:
    os.close(job.reading)
    if kill:
        for target in (-job.child, job.child):
            try:
                os.kill(target, signal.SIGKILL)
            except OSError:
                pass
    return _reap(job.child)


def _reap(child: int) -> int | None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            done, status = os.waitpid(child, os.WNOHANG)
        except ChildProcessError:
            return None
        if done or time.monotonic() > end:
            return status if done else None
        time.sleep(0.001)


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def steps(work: Callable[[Callable[[str], None]], None], deadline: float) -> tuple[list[str], str | None]:
    """Runs `work(say)` in a child of its own; returns what it said before it ended, and how it died if it did.

    For work that a kernel filter may kill half way: what was said before is not lost.
    """
    reading, writing = os.pipe()

    def say(line: str) -> None:
        os.write(writing, line.encode() + b"\n")

    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            work(say)
        finally:
            os._exit(0)  # what matters was said
    os.close(writing)
    said, end = b"", time.monotonic() + deadline
    poll = select.poll()
    poll.register(reading, select.POLLIN)
    death = None
    while True:
        left = end - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000 + 1):
            os.kill(child, signal.SIGKILL)
            death = f"did not end within {deadline:g} s"
            break
        part = os.read(reading, 1 << 12)
        if not part:
            break
        said += part
    os.close(reading)
    status = _reap(child)
    if death is None and status is not None and os.WIFSIGNALED(status):
        death = signal_name(os.WTERMSIG(status))
    return said.decode().split("\n")[:-1], death


def command(argv: list[str], deadline: float) -> tuple[int | None, str, str]:
    """(exit status, stdout, stderr) of a program with a bare environment and no input.

    The status is None when it could not be started, was killed or did not end in time; stderr then says so.
    """
    ends = [os.pipe(), os.pipe()]
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    ]
    actions += [(os.POSIX_SPAWN_DUP2, writing, number) for number, (_, writing) in enumerate(ends, 1)]
    try:
        child = os.posix_spawn(
            argv[0], argv, {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}, file_actions=actions, setsid=False
        )
    except OSError as problem:
        child = 0
        failure = problem.strerror or "could not be started"
    for _, writing in ends:
        os.close(writing)
    shown = {reading: b"" for reading, _ in ends}
    end, late = time.monotonic() + deadline, False
    waiting = list(shown) if child else []
    while waiting and not late:
        ready = select.select(waiting, [], [], max(0.0, end - time.monotonic()))[0]
        late = not ready
        for reading in ready:
            part = os.read(reading, 1 << 16)
            shown[reading] = (shown[reading] + part)[:CAPTURE]
            if not part:
                waiting.remove(reading)
    for reading in shown:
        os.close(reading)
    out, said = (content.decode("utf-8", "replace") for content in shown.values())
    if not child:
        return None, "", failure
    if late:
        os.kill(child, signal.SIGKILL)
    status = _reap(child) if late else os.waitpid(child, 0)[1]
    if late or status is None:
        return None, out, f"did not end within {deadline:g} s"
    return (
        (os.WEXITSTATUS(status), out, said)
        if os.WIFEXITED(status)
        else (None, out, f"killed by {signal_name(os.WTERMSIG(status))}")
    )
