"""bubblewrap, run as those run it who build sandboxes on it: `bwrap --version` succeeds where nothing works."""
from __future__ import annotations

from typing import Any

from .child import command
from .programs import Programs
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
    program = Programs(root, home).first("bwrap")
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
    code, shown, said = command(argv, DEADLINE / 2)
    lines = shown.splitlines()
    bounding = next((line.split()[-1] for line in lines if line.startswith("CapBnd:")), None)
    label = next((plain(line) for line in lines if line and not line.startswith("CapBnd:")), None)
    first_line = plain(said.splitlines()[0]) if said else ""
    return {"passed": code == 0, "exit": code, "said": first_line, "label": label, "bounding_set": bounding}
