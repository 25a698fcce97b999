"""Landlock: what the kernel answers, and whether it does what it says on the folders that servers use."""
from __future__ import annotations

import os
import sys
from typing import Any

from ..confine import landlock, selftest
from .child import steps
from .programs import interpreter
from .read import Fact, errno_name, known, unknown

CALL = "landlock_create_ruleset"
DEADLINE = 5.0


def facts(root: str = "/") -> dict[str, Fact]:
    """{"abi", "errata", "restrict": {"stage", "errno"}}. An ABI that the kernel refused to tell has the errno as `why`.

    `restrict` is the first stage that failed when a child asked for every right of that ABI; both None when none did.
    """
    if root != "/":
        nothing = unknown(CALL, "only files were looked at")
        return {"abi": nothing, "errata": nothing, "restrict": nothing}
    said, death = steps(_try, DEADLINE)
    found = dict(line.split(" ", 1) for line in said)
    if "abi" not in found:
        nothing = unknown(CALL, death or found.get("create", "no answer"))
        return {"abi": nothing, "errata": unknown(CALL, "the ABI is not known"), "restrict": nothing}
    failed: dict[str, Any] = {"stage": None, "errno": None}
    for stage in ("ruleset", "restrict"):
        if found.get(stage) != "ok":
            failed = {"stage": stage, "errno": found.get(stage) or death or "no answer"}
            break
    return {"abi": known(int(found["abi"]), CALL), "errata": known(int(found.get("errata", "0")), CALL),
            "restrict": known(failed, "a ruleset with every right of that ABI, in a child")}


def _try(say: Any) -> None:
    try:
        abi = landlock.abi()
    except OSError as problem:
        say(f"create {errno_name(problem)}")
        return
    say(f"abi {abi}")
    say(f"errata {landlock.errata()}")
    used = min(abi, landlock.NEWEST)
    stage = "ruleset"
    try:
        ruleset = landlock.create_ruleset(*(landlock.known(table, used) for table in (
            landlock.FILE_RIGHTS, landlock.NETWORK_RIGHTS, landlock.SCOPES)))
        say("ruleset ok")
        stage = "restrict"
        landlock.restrict(ruleset, used)
        say("restrict ok")
    except OSError as problem:
        say(f"{stage} {errno_name(problem)}")


def self_test(folder: str) -> Fact:
    """The wrapper's own test on the file system of `folder`: what `selftest.run` answers, with the folder's path.

    `stages` is empty where the test could not even begin. Changes this process; for a child.
    """
    how = "forked allow-and-deny test"
    if not os.access(folder, os.W_OK | os.X_OK):
        reason = f"{folder} is not there or cannot be written by this user"
        return known(
            {"folder": folder, "passed": False, "abi": None, "errno": None, "stages": [], "reason": reason}, how
        )
    sys.executable = interpreter()
    return known({"folder": folder, **selftest.run(folder)}, how)


def other_file_systems(home: str, folders: list[str]) -> list[str]:
    """Those of the folders that lie on another file system than the home and the folders before them."""
    seen, found = set(), []
    for folder in [home, *folders]:
        try:
            device = os.stat(folder).st_dev
        except OSError:
            continue
        if device not in seen:
            seen.add(device)
            found += [folder] if folder != home else []
    return found
