"""Whether scanners that run in containers can do their work here, however the servers are isolated."""
from __future__ import annotations

from typing import Any

from .seen import Seen, finding, remedy
from .snap_docker import confined, daemon_origin

REASONS = {
    "absent": "there is no container engine",
    "blocked": "the container engine cannot be used by this user",
    "unknown": "it is not known whether the container engine can be used",
}


def judge(seen: Seen, mechanisms: dict[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """({"state": "usable", "degraded", "unavailable" or "unknown", "warning": str or None, "codes"}, findings)."""
    docker, podman = mechanisms["docker"], mechanisms["podman"]
    if docker["state"] in ("usable", "limited"):
        if daemon_origin(seen) == "snap" and confined(seen):
            reason = (
                "snap's Docker cannot start containers with no-new-privileges and sees only the visible part of the "
                "home folder"
            )
            entry = finding(
                "SCANNER_DEGRADED",
                None,
                {"reason": reason},
                [
                    remedy("drop_option", options="no-new-privileges", servers="the scanner"),
                    remedy("docker_from_packages"),
                ],
            )
            return _answer("degraded", reason, entry), [entry]
        return {"state": "usable", "warning": None, "codes": []}, []
    if podman["state"] in ("usable", "limited"):
        return {"state": "usable", "warning": None, "codes": []}, []
    state = "unknown" if "unknown" in (docker["state"], podman["state"]) else "unavailable"
    worst = docker["state"] if docker["state"] != "absent" else podman["state"]
    codes = ", ".join(
        code for code in [*docker["codes"], *podman["codes"]] if not code.endswith(("_NOT_INSTALLED", "_USABLE"))
    )
    reason = REASONS.get(worst, REASONS["unknown"]) + (f" ({codes})" if codes else "")
    entry = finding("SCANNER_UNAVAILABLE", None, {"reason": reason})
    return _answer(state, reason, entry), [entry]


def _answer(state: str, reason: str, entry: dict[str, Any]) -> dict[str, Any]:
    verb = {"degraded": "are degraded", "unavailable": "cannot run", "unknown": "may not run"}[state]
    return {"state": state, "warning": f"Container-based scanners {verb} here: {reason}.", "codes": [entry["code"]]}
