"""User namespaces: the switches, and what really happens when one is made."""
from __future__ import annotations

import os
from typing import Any

from . import attempt
from .child import command, steps
from .programs import interpreter
from .read import Fact, known, number, text, unknown

STAGES = tuple(attempt.STAGES)
DEADLINE = 4.0
SWITCHES = {
    "apparmor_restrict": "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "unprivileged_clone": "/proc/sys/kernel/unprivileged_userns_clone",
    "most": "/proc/sys/user/max_user_namespaces",
}


def facts(root: str = "/") -> dict[str, Fact]:
    """The switches as numbers, `module_enabled` (RHEL 7), and `stages`.

    `stages` is {"passed": [stage], "failed": stage or None, "errno": name or None, "label": str or None}; the label is
    what AppArmor calls the process after the first stage, which tells of a profile that takes all capabilities away.
    """
    found = {name: number(root, path) for name, path in SWITCHES.items()}
    found["module_enabled"] = text(root, "/sys/module/user_namespace/parameters/enable")
    how = "staged attempt in a child"
    if root != "/":
        return {**found, "stages": unknown(how, "only files were looked at")}
    said, death = steps(attempt.attempt, DEADLINE) if _owns_itself() else _as_program()
    return {**found, "stages": known(stages(said, death), how)}


def _owns_itself() -> bool:
    """Whether the kernel lets this process write its own maps: one that was root a moment ago may not."""
    return os.stat("/proc/self/uid_map").st_uid == os.geteuid()


def _as_program() -> tuple[list[str], str | None]:
    """The attempt in a fresh program, which owns itself again. To mark this process as harmless instead would open
    what root left in its memory."""
    source = attempt.__loader__.get_source(attempt.__name__)  # type: ignore[union-attr]
    code, shown, said = command([interpreter(), "-IS", "-c", source], DEADLINE)
    return shown.splitlines(), None if code == 0 else said.strip().rpartition("\n")[2].replace("killed by ", "")


def stages(said: list[str], death: str | None) -> dict[str, Any]:
    """What a child said about its attempt, as facts. The stage during which it died is the one after its last word."""
    passed = [line[3:] for line in said if line.startswith("ok ")]
    failed = next((line[5:].rpartition(" ") for line in said if line.startswith("fail ")), None)
    label = next((line[6:] for line in said if line.startswith("label ")), None)
    left = [stage for stage in STAGES if stage not in passed]
    if failed:
        return {"passed": passed, "failed": failed[0], "errno": failed[2], "label": label}
    return {"passed": passed, "failed": left[0] if left else None, "errno": (death or "no answer") if left else None,
            "label": label}
