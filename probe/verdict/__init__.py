"""Judge: pure functions from facts to findings and a verdict. Nothing here touches the system."""
from __future__ import annotations

from typing import Any

from . import bubblewrap, context, docker, landlock, podman, scanner
from . import servers as configured
from .seen import Seen, finding, mechanism, remedy

SCHEMA = 1
# Landlock needs neither root nor namespaces nor a daemon and leaves a server's stdio alone, so it comes first.
ORDER = ("landlock", "bubblewrap", "podman", "docker")
SEVERITIES = ("error", "warning", "info")
DECIDING = {
    "landlock": ("landlock.abi", "landlock.restrict"),
    "bubblewrap": ("bubblewrap.program", "bubblewrap.run", "namespaces.stages"),
    "podman": ("podman.program", "namespaces.stages"),
    "docker": ("docker.clients", "docker.endpoints"),
}
EXIT = {"usable": 0, "limited": 10, "blocked": 11, "unknown": 12}


def judge(facts: dict[str, Any], servers: list[dict[str, Any]]) -> dict[str, Any]:
    """The verdict on `probe.host.observe`'s facts. Pure; never raises for facts that are missing.

    `servers` are rows of `probe.clients.act.servers`. Returns {"schema", "user", "verdict", "recommended",
    "mechanisms": {landlock, bubblewrap, podman, docker: {"state", "codes", "evidence", "remedies"}}, "scanner":
    {"state", "warning", "codes"}, "servers": [{…, "isolation", "state"}], "findings": [{"code", "severity",
    "mechanism", "title", "evidence", "remedies"}]}, findings by severity.

    The verdict is "usable" when Landlock is; "limited" when Landlock is with limits, or another mechanism is usable in
    its place; "blocked" when nothing is; "unknown" when nothing is known to be and something is not known.
    """
    seen = Seen(facts)
    results = {"landlock": landlock.judge(seen), "bubblewrap": bubblewrap.judge(seen), "podman": podman.judge(seen)}
    results["docker"] = docker.judge(seen, configured.hits(servers, seen.home), results["podman"])
    results = {name: _said(seen, name, *result) for name, result in results.items()}
    mechanisms = {name: result[0] for name, result in results.items()}
    findings = list({str(entry): entry for _, entries in results.values() for entry in entries}.values())
    scanners, more = scanner.judge(seen, mechanisms)
    findings += more + context.judge(seen)
    findings.sort(key=lambda entry: SEVERITIES.index(entry["severity"]))
    recommended = next((name for wanted in ("usable", "limited") for name in ORDER
                        if mechanisms[name]["state"] == wanted), None)
    if mechanisms["landlock"]["state"] == "limited":
        recommended = "landlock"
    return {
        "schema": SCHEMA,
        "user": facts.get("user"),
        "verdict": _overall(mechanisms),
        "recommended": recommended,
        "mechanisms": mechanisms,
        "scanner": scanners,
        "servers": configured.judge(servers, mechanisms),
        "findings": findings,
    }


def _said(
    seen: Seen, name: str, found: dict[str, Any], findings: list[dict[str, Any]]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """No state but "usable" goes without a code that says why."""
    if found["state"] != "unknown" or any(entry["severity"] != "info" for entry in findings):
        return found, findings
    missing = [f"{field}: {seen.why(field)}" for field in DECIDING[name] if seen.unknown(field)]
    entry = finding("PROBE_UNKNOWN", name, {"missing": missing}, [remedy("probe_outside")])
    return mechanism("unknown", [*findings, entry], found["evidence"]), [*findings, entry]


def _overall(mechanisms: dict[str, Any]) -> str:
    states = [row["state"] for row in mechanisms.values()]
    if mechanisms["landlock"]["state"] == "usable":
        return "usable"
    if "usable" in states or "limited" in states:
        return "limited"
    return "unknown" if "unknown" in states else "blocked"


def exit_code(verdict: dict[str, Any]) -> int:
    """The exit status of `probe host` for a verdict: 0 usable, 10 usable with limits, 11 nothing usable, 12 unknown."""
    return EXIT.get(str(verdict.get("verdict")), EXIT["unknown"])
