"""One process per policy for many attempts: each is made by a child of it, under the very rules that it is under.

A start costs seconds where a processor is emulated, a child costs none; the rules are the same for both.
"""
from __future__ import annotations

import json
import subprocess
from pathlib import Path

ATTEMPTS = Path(__file__).parent / "attempts"
# Runs inside. One line in: module, its text if it is new here, function, places. One line out: status, stdout, stderr.
PARENT = """
import json, os, sys, types
given = os.fdopen(os.dup(0), "r")
told = os.fdopen(os.dup(1), "w")
empty = os.open("/dev/null", os.O_RDWR)
os.dup2(empty, 0)
os.dup2(empty, 1)
toolbox = sys.modules["toolbox"] = types.ModuleType("toolbox")
exec(json.loads(given.readline()), toolbox.__dict__)
modules = {}
for line in given:
    name, text, function, places = json.loads(line)
    if text:
        modules[name] = {}
        exec(text, modules[name])
    ends = [os.pipe(), os.pipe()]
    child = os.fork()
    if child == 0:
        told.close()
        given.close()
        for number, (reading, writing) in enumerate(ends, 1):
            os.close(reading)
            os.dup2(writing, number)
            os.close(writing)
        sys.argv[1:] = [json.dumps(places)]
        status = 0
        try:
            toolbox.main(modules[name][function])
        except SystemExit as end:
            status = end.code
        except BaseException:
            status = 3
        try:
            sys.stdout.flush()
        except OSError:
            status = 3
        os._exit(status)
    texts = []
    for reading, writing in ends:
        os.close(writing)
        with os.fdopen(reading, errors="replace") as stream:
            texts.append(stream.read())
    ended = os.waitpid(child, 0)[1]
    status = -os.WTERMSIG(ended) if os.WIFSIGNALED(ended) else os.WEXITSTATUS(ended)
    print(json.dumps([status, *texts]), file=told, flush=True)
"""


class Together:
    """The process of one policy. `argv` is what comes before its program; `options` go to `Popen`."""

    def __init__(self, argv: list[str], **options) -> None:
        self.process = subprocess.Popen([*argv, "-IS", "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, **options)
        self.known: set[str] = set()
        self._say((ATTEMPTS / "toolbox.py").read_text())

    def attempt(self, module: str, function: str, places: dict) -> subprocess.CompletedProcess:
        """One attempt, as `subprocess.run` of a program of its own would tell it."""
        text = "" if module in self.known else (ATTEMPTS / module).with_suffix(".py").read_text()
        self.known.add(module)
        self._say([module, text, function, places])
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"the process for {module}.{function} ended: {self.process.communicate()[1]}")
        return subprocess.CompletedProcess([module, function], *json.loads(line))

    def _say(self, what) -> None:
        self.process.stdin.write(json.dumps(what) + "\n")
        self.process.stdin.flush()

    def end(self) -> None:
        self.process.communicate()
