"""The verdict on Landlock: what its self-test saw, and what this version of it lacks."""
from __future__ import annotations

from typing import Any

from . import refusal
from .seen import Seen, finding, mechanism, remedy

NAME = "landlock"
NEVER_HERE = ("LANDLOCK_NOT_BUILT", "CONTEXT_WSL1", "CONTEXT_GVISOR")
LIMITS = ("LANDLOCK_NO_RENAME_BETWEEN_FOLDERS", "LANDLOCK_SOCKETS_EXPOSED", "RUNTIME_FROM_SNAP")
# (first ABI that has it, protection, what stands in on older kernels): a summary of what the wrapper's plan decides.
NEWER = (
    (2, "rename and link between folders", None),
    (3, "truncation of files that are not granted for writing", "a filter"),
    (4, "a list of TCP ports", None),
    (5, "ioctl on devices", "a filter for terminal injection"),
    (6, "abstract UNIX sockets", "a filter"),
    (6, "signals to processes outside", None),
    (9, "UNIX sockets one by one", "a filter that closes all"),
    (10, "UDP by port", "a filter that closes the network as a whole"),
)
SOCKET_ACT = "connect_unix_socket"
SOCKETS_ONE_BY_ONE = 9  # first ABI
OPENED_BY_GROUPS = ("/var/run/docker.sock", "/run/containerd", "/var/run/libvirt", "/var/lib/incus", "/var/snap/lxd")
RUNTIMES = ("node", "npx", "python3", "uv", "uvx")


def judge(seen: Seen) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(mechanism, findings)."""
    abi, stage = seen.value("landlock.abi"), seen.value("landlock.restrict", {})
    tests = _tests(seen)
    evidence = {"abi": abi, "errata": seen.value("landlock.errata"), "errno": seen.why("landlock.abi") or None,
                "release": seen.value("kernel.release"),
                "folders": [{name: test.get(name) for name in ("folder", "passed", "reason")} for test in tests]}
    if not isinstance(abi, int):
        cause = refusal.by_version(seen)
        state = "unknown" if cause is None else "absent" if cause["code"] in NEVER_HERE else "blocked"
        findings = [cause] if cause else []
    elif stage.get("stage"):
        state, findings = "blocked", [refusal.by_stage(seen, abi, str(stage["stage"]), str(stage.get("errno")))]
    else:
        state, findings = _tested(seen, abi, tests)
    return mechanism(state, findings, evidence), findings


def _tests(seen: Seen) -> list[dict[str, Any]]:
    """The results of the self-tests, that of the home first."""
    facts = (seen.facts.get("landlock") or {}).get("self_tests") or []
    return [fact["value"] for fact in facts if isinstance(fact, dict) and isinstance(fact.get("value"), dict)]


def _tested(seen: Seen, abi: int, tests: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    failures = [_failure(seen, abi, test) for test in tests if not test.get("passed")]
    passed = [test for test in tests if test.get("passed")]
    codes = [entry["code"] for entry in failures]
    if "LANDLOCK_NOT_ENFORCED" in codes:
        return "blocked", failures
    if not passed:
        certain = [code for code in codes if code != "LANDLOCK_SELF_TEST_INCOMPLETE"]
        return "blocked" if certain else "unknown", failures or [_incomplete(seen.home, "it was not run")]
    works = finding("LANDLOCK_USABLE", NAME, {
        "abi": abi, "errata": seen.value("landlock.errata"), "folder": passed[0].get("folder")})
    findings = [works, *failures, *_older(seen, abi), *_sockets(seen, abi, passed), *_runtimes(seen)]
    limited = bool(failures) or any(entry["code"] in LIMITS for entry in findings)
    return "limited" if limited else "usable", findings


def _failure(seen: Seen, abi: int, test: dict[str, Any]) -> dict[str, Any]:
    """What it means that a self-test did not pass."""
    folder, stages = str(test.get("folder")), test.get("stages") or []
    opened = [row["name"] for row in stages if row.get("wanted") == "denied" and row.get("got") == "allowed"]
    closed = [row for row in stages if row.get("wanted") == "allowed" and row.get("got") != "allowed"]
    if opened == [SOCKET_ACT]:
        return _exposed(seen, abi)
    if opened:
        about = {"abi": abi, "folder": folder, "acts": opened}
        return finding("LANDLOCK_NOT_ENFORCED", NAME, about, [remedy("report_kernel")])
    if closed:
        kind = _file_system(seen, folder)
        about = {"folder": folder, "type": kind, "errno": closed[0].get("errno")}
        cures = [remedy("move_folder", folder=folder, type=kind or "its file system"), remedy("grant_parent")]
        return finding("LANDLOCK_FOLDER_ALLOW_FAILS", NAME, about, cures)
    return _incomplete(folder, str(test.get("reason") or "no reason was given"))


def _incomplete(folder: str, reason: str) -> dict[str, Any]:
    about = {"folder": folder, "reason": reason}
    return finding("LANDLOCK_SELF_TEST_INCOMPLETE", NAME, about, [remedy("free_folder", folder=folder)])


def _file_system(seen: Seen, folder: str) -> str | None:
    rows = [seen.value("folders.home", {}), *seen.value("folders.workspaces", [])]
    return next((row.get("type") for row in rows if row.get("path") == folder), None)


def _older(seen: Seen, abi: int) -> list[dict[str, Any]]:
    lacking = [row for row in NEWER if row[0] > abi]
    findings = []
    if lacking:
        findings.append(finding("LANDLOCK_OLDER_ABI", NAME, {
            "abi": abi, "by_filter": [row[1] for row in lacking if row[2]],
            "unavailable": [row[1] for row in lacking if not row[2]]}))
    if abi < 2:
        findings.append(finding("LANDLOCK_NO_RENAME_BETWEEN_FOLDERS", NAME, {"abi": abi}, refusal.another_kernel(seen)))
    return findings


def _sockets(seen: Seen, abi: int, passed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the reachable sockets mean. Closed is only what each test saw closed."""
    reachable = _strong(seen)
    closed = all(any((row["name"], row["got"]) == (SOCKET_ACT, "denied") for row in test.get("stages") or [])
                 for test in passed)
    if not reachable or (closed and abi >= SOCKETS_ONE_BY_ONE):
        return []
    if not closed:
        return [_exposed(seen, abi)]
    about = {"abi": abi, "sockets": reachable}
    cures = [remedy("no_unix_grant"), *_leave(reachable)]
    return [finding("LANDLOCK_SOCKETS_ALL_OR_NOTHING", NAME, about, cures)]


def _exposed(seen: Seen, abi: int) -> dict[str, Any]:
    reachable = _strong(seen)
    about = {"abi": abi, "sockets": reachable}
    return finding("LANDLOCK_SOCKETS_EXPOSED", NAME, about, [*_leave(reachable), remedy("report_kernel")])


def _strong(seen: Seen) -> list[str]:
    """Reachable sockets that give root, or the user's rights outside."""
    return [row["path"] for row in seen.value("sockets.reachable", [])
            if row.get("state") == "reachable" and row.get("gives") in ("root", "user")]


def _leave(paths: list[str]) -> list[dict[str, Any]]:
    by_group = [path for path in paths if path.startswith(OPENED_BY_GROUPS)]
    return [remedy("leave_group", sockets=", ".join(by_group))] if by_group else []


def _runtimes(seen: Seen) -> list[dict[str, Any]]:
    snaps = [name for name in RUNTIMES if seen.value(f"runtimes.{name}", {}).get("snap")]
    cures = [remedy("runtime_not_snap", names=", ".join(snaps))]
    return [finding("RUNTIME_FROM_SNAP", NAME, {"names": snaps}, cures)] if snaps else []
