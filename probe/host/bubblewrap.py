"""bubblewrap, run as those run it who build sandboxes on it: `bwrap --version` succeeds where nothing works."""
from __future__ import annotations

import subprocess
from typing import Any

from .programs import first
from .read import Fact, known, plain, unknown

# What coding agents and desktop launchers pass: the whole root read-only, own user, process and network namespaces.
LAUNCHER_OPTIONS = ("--new-session", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-net",
                    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
# Some of them make one more namespace inside, which Ubuntu's profile for bwrap forbids.
INSIDE = (
    "--unshare-user",
    "--unshare-net",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--",
    "/bin/true",
)
SHOW = "grep CapBnd /proc/self/status; cat /proc/self/attr/current 2>/dev/null; exit 0"
DEADLINE = 8.0


def facts(root: str, home: str) -> dict[str, Fact]:
    """{"program", "run", "nested"}; a run is {"passed": bool, "exit": int or None, "said": first line of stderr,
    "label": AppArmor's name for the inside or None, "bounding_set": hex digits or None}."""
    program = first(root, home, "bwrap")
    how = "bwrap with a launcher's options"
    if program["state"] != "known" or root != "/":
        nothing = unknown(how, "bwrap was not found" if root == "/" else "only files were looked at")
        return {"program": program, "run": nothing, "nested": nothing}
    path = program["value"]["path"]
    run = _run([path, *LAUNCHER_OPTIONS, "--", "/bin/sh", "-c", SHOW])
    nested = unknown("bwrap inside bwrap", "bwrap itself does not work")
    if run["passed"]:
        nested = known(_run([path, *LAUNCHER_OPTIONS, "--", path, *INSIDE]), "bwrap inside bwrap")
    return {"program": program, "run": known(run, how), "nested": nested}


def _run(argv: list[str]) -> dict[str, Any]:
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=DEADLINE / 2, check=False,
                              cwd="/", env={"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    except subprocess.TimeoutExpired:
        return _result(None, "did not end in time", [])
    except OSError as problem:
        return _result(None, problem.strerror or "could not be started", [])
    said = done.stderr.decode("utf-8", "replace").splitlines()
    return _result(done.returncode, plain(said[0]) if said else "", done.stdout.decode("utf-8", "replace").splitlines())


def _result(code: int | None, said: str, shown: list[str]) -> dict[str, Any]:
    bounding = next((line.split()[-1] for line in shown if line.startswith("CapBnd:")), None)
    label = next((plain(line) for line in shown if line and not line.startswith("CapBnd:")), None)
    return {"passed": code == 0, "exit": code, "said": said, "label": label, "bounding_set": bounding}
