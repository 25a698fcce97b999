"""The verdict on Podman, from what rootless containers need. No container is started, and the findings say so."""
from __future__ import annotations

from typing import Any

from . import namespaces
from .seen import Seen, finding, mechanism, remedy

NAME = "podman"


def judge(seen: Seen) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(mechanism, findings)."""
    program = seen.fact("podman.program")
    reachable = [row["path"] for row in seen.value("podman.sockets", []) if row.get("state") == "reachable"]
    evidence = {"path": seen.value("podman.program", {}).get("path"), "sockets": reachable}
    if program["state"] == "unknown":
        return mechanism("unknown", [], evidence), []
    if program["state"] == "absent" and not reachable:
        findings = [finding("PODMAN_NOT_INSTALLED", NAME, {"searched": program["how"]})]
        return mechanism("absent", findings, evidence), findings
    state, causes = namespaces.judge(seen)
    if not seen.root and state == "blocked" and not reachable:
        return mechanism("blocked", causes, evidence), causes
    if state == "unknown" and not reachable and not seen.root:
        return mechanism("unknown", [], evidence), []
    ids = {
        "subuid": seen.value("podman.subuid"),
        "subgid": seen.value("podman.subgid"),
        "newuidmap": seen.value("podman.newuidmap"),
    }
    findings = [finding("PODMAN_USABLE", NAME, {"path": evidence["path"], "subordinate_ids": ids["subuid"]})]
    if not seen.root and not reachable and not (ids["subuid"] and ids["subgid"] and ids["newuidmap"]):
        findings.append(finding("PODMAN_NO_SUBORDINATE_IDS", NAME, ids, [remedy("subordinate_ids", user=seen.user)]))
        return mechanism("limited", findings, evidence), findings
    return mechanism("usable", findings, evidence), findings
