"""The range for attempts to get out: every attempt is tried without confinement first, then under the wrapper."""
from __future__ import annotations

import contextlib
import json
import os
import pwd
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from probe.confine import landlock, selftest

from .outside import PYTHON, SERVER, Outside
from .together import Together

ATTEMPTS = Path(__file__).parent / "attempts"
# What --show says of a protection that does not hold here.
NOT_ENFORCED = ("unavailable", "degraded", "not restricted")
_oldest = 1  # the first interface to try
FORBIDDEN = "forbidden by the machine itself, without us: "


class Vector(NamedTuple):
    """One way out. `row` counts as facts/landlock.md section 5 does; `attempt` is MODULE.FUNCTION below attempts/."""

    row: int
    attempt: str
    protection: str  # as --show names it; "" where the act must fail whatever --show says
    options: tuple = ()  # of the wrapper; {place} is filled in
    answers: Sequence[str] = ("EACCES", "EPERM")  # how a denial looks
    machine: dict = {}  # errno: what in the machine forbids the act to everybody
    users: tuple = ("person", "root")
    stdin: str = ""  # what it is: "terminal", "console" or "file"; nothing otherwise


def newest() -> int:
    """The newest interface to try: the kernel's own, as far as the table knows it."""
    return min(selftest.ask_kernel()[0] or 0, landlock.NEWEST)


def pytest_addoption(parser):
    parser.addoption("--together", action="store_true",
                     help="start one process per policy and make the attempts in children of it, not in new programs")


def pytest_configure(config):
    global _oldest
    _oldest = newest() if config.getoption("--abi") == "newest" else 1


def every(vectors: Sequence[Vector]):
    """Each vector with each of its users on each interface from 1 to the kernel's own, as a decorator."""
    cases = []
    for vector in vectors:
        for user in vector.users:
            for abi in range(_oldest, newest() + 1):
                policy = " ".join(vector.options).replace("{", "").replace("}", "")
                name = " ".join(filter(None, [vector.attempt.partition(".")[2], policy, user, f"abi {abi}"]))
                cases.append(pytest.param(vector, user, abi, id=name))
    return pytest.mark.parametrize(("vector", "user", "abi"), cases)


class Range:
    """Runs attempts as one user, without and with the wrapper, and remembers what does not change."""

    def __init__(self, user: str, somebody, outside: Outside, wrapper: str, memory: dict,
                 together: dict | None) -> None:
        self.user, self.somebody, self.outside = user, somebody, outside
        self.wrapper, self.memory, self.together = wrapper, memory, together
        self.told: list[tuple[str, str]] = []  # what the test's report says of it

    def loose(self, vector: Vector) -> str:
        """What comes of the attempt without us."""
        key = (self.outside.user, "loose", vector.attempt, vector.stdin)
        if key not in self.memory:
            private = f"{self.outside.top}/loose"
            self.memory[key] = self._run(vector, [], private)
        return self.memory[key]

    def confined(self, vector: Vector, abi: int) -> str:
        """What comes of it under the wrapper."""
        private = f"{self.outside.home}/.local/state/mcp-confine/servers/{SERVER}/data"
        return self._run(vector, [*self.words(vector, abi), "--"], private)

    def state(self, vector: Vector, abi: int) -> str:
        """What `--show` says of the protection that the attempt is about."""
        return self.show(vector, abi)[vector.protection]

    def show(self, vector: Vector, abi: int) -> dict[str, str]:
        """Each protection's state for the vector's policy, as `--show --json` tells it."""
        words = self.words(vector, abi)
        key = (self.outside.user, *words)
        if key not in self.memory:
            done = self.somebody.run([*words, "--show", "--json", "--", PYTHON], env=self._environment())
            assert done.returncode == 0, done.stderr
            self.memory[key] = {row["name"]: row["state"] for row in json.loads(done.stdout)["protections"]}
        return self.memory[key]

    def words(self, vector: Vector, abi: int) -> list[str]:
        """The wrapper and its options for this vector."""
        fill = {**self.outside.places, "granted_port": self.outside.granted_port, "top": self.outside.top}
        return [self.wrapper, "--name", SERVER, "--max-abi", str(abi), "--ro", f"{self.outside.top}/readable",
                *[word.format(**fill) for word in vector.options]]

    def _environment(self) -> dict[str, str]:
        return self.somebody.environment(HOME=self.outside.home)

    def _run(self, vector: Vector, words: list[str], private: str) -> str:
        self.outside.restore()
        module, _, function = vector.attempt.partition(".")
        with self.outside.inherited() as descriptors, self._stdin(vector.stdin) as stdin:
            places = {**self.outside.places, "private": private, "inherited": descriptors}
            if self.together is None or vector.stdin or vector.protection == "descriptors":
                line = [*words, PYTHON, "-IS", "-c", program(module, function), json.dumps(places)]
                done = self.somebody.run(line, env=self._environment(), cwd="/", stdin=stdin,
                                         pass_fds=list(descriptors.values()))
            else:
                done = self._one_of_many([*words, PYTHON]).attempt(module, function, places)
        if done.returncode == 0 and done.stdout == "through\n":
            return "through"
        if done.returncode == 1 and done.stdout.startswith("E"):
            return done.stdout.strip()
        if done.returncode == -31:
            return "SIGSYS"
        if done.returncode == -11:
            return "SIGSEGV"
        raise AssertionError(f"{vector.attempt} is broken ({done.returncode}): {done.stdout}{done.stderr}")

    def _one_of_many(self, words: list[str]) -> Together:
        key = (self.outside.user, *words)
        if key not in self.together:
            self.together[key] = Together(words, env=self._environment(), cwd="/", **become(self.somebody.name))
        return self.together[key]

    @contextlib.contextmanager
    def _stdin(self, kind: str):
        path = {"console": "/dev/tty0", "file": self.outside.places["canary"]}.get(kind)
        if kind == "terminal":
            yield self.outside.terminal
        elif path and os.access(path, os.R_OK):
            with open(path, "rb") as stream:
                yield stream
        else:
            yield subprocess.DEVNULL

    def holds(self, vector: Vector, abi: int) -> None:
        """The whole story: it works without us; with us it is stopped, or said to be possible and then it is."""
        loose = self.loose(vector)
        state = self.state(vector, abi) if vector.protection else "enforced by the wrapper"
        self.told += [("protection", vector.protection), ("state", state)]
        confined = self.confined(vector, abi)
        if loose != "through":
            assert loose in vector.machine, f"{vector.attempt} proves nothing: without us it is {loose}"
            assert confined != "through", f"without us {loose}, confined it works"
            pytest.skip(f"{FORBIDDEN}{vector.attempt} for {self.user}: {loose}, {vector.machine[loose]}")
        if state in NOT_ENFORCED:
            assert confined == "through", f"{vector.protection} is called {state}, and yet the answer is {confined}"
        else:
            assert state.startswith("enforced"), state
            assert confined != "through", f"got out, although {vector.protection} is called {state}"
            assert confined in vector.answers, f"stopped by {confined}: not the denial it should be"


def become(name: str) -> dict:
    """How `Popen` starts something as this user."""
    entry = pwd.getpwnam(name)
    return {} if entry.pw_uid == os.geteuid() else {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def program(module: str, function: str) -> str:
    """The text of a stand-alone program that makes one attempt."""
    toolbox = (ATTEMPTS / "toolbox.py").read_text()
    return ("import sys, types\ntoolbox = sys.modules['toolbox'] = types.ModuleType('toolbox')\n"
            f"exec({toolbox!r}, toolbox.__dict__)\n{(ATTEMPTS / module).with_suffix('.py').read_text()}\n"
            f"toolbox.main({function})\n")


@pytest.fixture(scope="session")
def _memory():
    return {}


@pytest.fixture(scope="session")
def _surroundings(_account):
    made: dict[str, Outside] = {}

    def of(name: str) -> Outside:
        if name not in made:
            made[name] = Outside(name)
        return made[name]

    yield of
    for outside in made.values():
        outside.close()


@pytest.fixture(scope="session")
def _together(request, _surroundings):
    processes = {} if request.config.getoption("--together", False) else None
    yield processes
    for process in (processes or {}).values():
        process.end()


@pytest.fixture
def range_of(request, wrapper, _surroundings, _memory, _together):
    """A function from "person" or "root" to that user's `Range`."""
    def of(user: str) -> Range:
        somebody = request.getfixturevalue({"person": "person", "root": "root_person"}[user])
        made = Range(user, somebody, _surroundings(somebody.name), wrapper, _memory, _together)
        made.told = request.node.user_properties
        return made

    return of


def pytest_terminal_summary(terminalreporter):
    """Says how many attempts the machine itself does not allow: they prove nothing about us here."""
    told = [report.longrepr[2] for report in terminalreporter.stats.get("skipped", [])
            if isinstance(report.longrepr, tuple) and FORBIDDEN in report.longrepr[2]]
    if told:
        terminalreporter.write_line(f"{len(told)} attempts were {FORBIDDEN.rstrip(': ')}; they are named above")
