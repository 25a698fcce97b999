"""The verdict on Landlock."""
from __future__ import annotations

from typing import Any

from . import boot_list
from .seen import Seen, finding, mechanism, remedy

NAME = "landlock"
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
KERNELS = {"debian": "any Debian kernel since 12 has it", "ubuntu": "Ubuntu's own kernels since 22.04 have it",
           "fedora": "Fedora's own kernels have it", "rhel": "RHEL's kernels have it from 9.6",
           "raspbian": "Raspberry Pi OS kernels leave it out; Debian's arm64 kernels have it"}
SOCKET_ACT = "connect_unix_socket"


def judge(seen: Seen) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(mechanism, findings)."""
    abi = seen.value("landlock.abi")
    evidence: dict[str, Any] = {
        "abi": abi,
        "errata": seen.value("landlock.errata"),
        "errno": seen.why("landlock.abi") or None,
        "release": seen.value("kernel.release"),
    }
    if not isinstance(abi, int):
        findings = _not_there(seen)
        state = "blocked" if findings else "unknown"
        if any(entry["code"] in ("LANDLOCK_NOT_BUILT", "CONTEXT_WSL1", "CONTEXT_GVISOR") for entry in findings):
            state = "absent"
        return mechanism(state, findings, evidence), findings
    state, findings = _tested(seen, abi)
    evidence["folders"] = [{"folder": row.get("folder"), "passed": row.get("passed"), "reason": row.get("reason")}
                           for row in _tests(seen)]
    return mechanism(state, findings, evidence), findings


def _not_there(seen: Seen) -> list[dict[str, Any]]:
    errno = seen.why("landlock.abi")
    around = seen.around
    if seen.value("context.wsl") == 1:
        return [
            finding(
                "CONTEXT_WSL1", NAME, {"release": seen.value("kernel.release")}, [remedy("wsl2", distribution="NAME")]
            )
        ]
    if seen.value("context.gvisor"):
        return [finding("CONTEXT_GVISOR", NAME, {"version": seen.value("kernel.version")}, [remedy("another_runtime")])]
    if errno == "EOPNOTSUPP":
        return [_off_at_boot(seen)]
    if errno == "ENOSYS":
        if seen.seccomp == 2:
            return [
                finding(
                    "LANDLOCK_SECCOMP_ENOSYS",
                    NAME,
                    {"errno": errno, **around},
                    seen.filter_remedies("unit_allow_landlock"),
                )
            ]
        return [finding("LANDLOCK_NOT_BUILT", NAME, {
            "errno": errno, "release": seen.value("kernel.release"),
            "built": seen.value("lsm.built", {}).get("CONFIG_SECURITY_LANDLOCK")}, _kernel(seen))]
    if errno in ("EPERM", "EACCES"):
        return [
            finding(
                "LANDLOCK_SECCOMP_EPERM", NAME, {"errno": errno, **around}, seen.filter_remedies("unit_allow_landlock")
            )
        ]
    if errno == "SIGSYS":
        return [
            finding(
                "LANDLOCK_SECCOMP_KILL", NAME, {"signal": errno, **around}, seen.filter_remedies("unit_allow_landlock")
            )
        ]
    if errno.startswith("E") and errno.isupper():
        return [_refused(seen, "version", errno)]
    return []


def _kernel(seen: Seen) -> list[dict[str, Any]]:
    if seen.container:
        return []
    distribution = seen.facts.get("distribution") or {}
    hint = KERNELS.get(str(distribution.get("id")), "5.13 or newer, as the distribution's own kernel mostly is")
    return [remedy("kernel_with_landlock", kernel_hint=hint)]


def _off_at_boot(seen: Seen) -> dict[str, Any]:
    parameters = seen.value("boot.parameters", {})
    active = seen.value("lsm.active", [])
    waiting = boot_list.pending(seen)
    if waiting:
        return finding("LANDLOCK_REBOOT_PENDING", NAME, {"file": waiting["file"], "value": waiting["value"]},
                       [remedy("reboot", file=waiting["file"])])
    told = str(parameters.get("lsm", ""))
    if "landlock" in told.split(","):
        return finding(
            "LANDLOCK_BOOT_LIST_IGNORED",
            NAME,
            {"errno": "EOPNOTSUPP", "parameters": parameters, "active": active or None},
            [remedy("lsm_check_command_line", parameter="lsm", told=told)],
        )
    return finding("LANDLOCK_OFF_AT_BOOT", NAME, {
        "errno": "EOPNOTSUPP", "active": active or None, "parameters": parameters, "loader": seen.value("boot.loader")},
        boot_list.remedies(seen))


def _refused(seen: Seen, stage: str, errno: str) -> dict[str, Any]:
    return finding(
        "LANDLOCK_REFUSED",
        NAME,
        {"stage": stage, "errno": errno, "seccomp": seen.seccomp, "label": seen.label},
        [remedy("probe_outside")],
    )


def _tests(seen: Seen) -> list[dict[str, Any]]:
    tests = (seen.facts.get("landlock") or {}).get("self_tests") or []
    return [fact["value"] for fact in tests if isinstance(fact, dict) and isinstance(fact.get("value"), dict)]


def _tested(seen: Seen, abi: int) -> tuple[str, list[dict[str, Any]]]:
    restrict = seen.value("landlock.restrict", {})
    if restrict.get("stage"):
        return "blocked", [_restrict_failed(seen, abi, restrict)]
    tests = _tests(seen)
    findings: list[dict[str, Any]] = []
    for test in tests:
        findings += _one_test(seen, abi, test)
    codes = {entry["code"] for entry in findings}
    passed = [test for test in tests if test.get("passed")]
    home_first = bool(tests) and bool(tests[0].get("passed"))
    if "LANDLOCK_NOT_ENFORCED" in codes:
        return "blocked", findings
    if not passed:
        if not codes:
            reasons = [str(fact.get("why")) for fact in (seen.facts.get("landlock") or {}).get("self_tests") or []
                       if isinstance(fact, dict)]
            findings.append(_incomplete(seen.home, reasons[0] if reasons else "it was not run"))
        return ("blocked" if "LANDLOCK_FOLDER_ALLOW_FAILS" in codes else "unknown"), findings
    findings.insert(0, finding("LANDLOCK_USABLE", NAME, {
        "abi": abi, "errata": seen.value("landlock.errata"), "folder": passed[0].get("folder")}))
    state = "usable" if home_first and not codes else "limited"
    findings += _older(seen, abi)
    findings += _sockets(seen, abi, passed)
    if any(entry["code"] in ("LANDLOCK_NO_RENAME_BETWEEN_FOLDERS", "LANDLOCK_SOCKETS_EXPOSED") for entry in findings):
        state = "limited"
    snaps = [
        name for name in ("node", "npx", "python3", "uv", "uvx") if (seen.value(f"runtimes.{name}", {})).get("snap")
    ]
    if snaps:
        findings.append(
            finding("RUNTIME_FROM_SNAP", NAME, {"names": snaps}, [remedy("runtime_not_snap", names=", ".join(snaps))])
        )
        state = "limited"
    return state, findings


def _restrict_failed(seen: Seen, abi: int, restrict: dict[str, Any]) -> dict[str, Any]:
    stage, errno = str(restrict["stage"]), str(restrict.get("errno"))
    if errno == "E2BIG" and stage == "restrict":
        return finding("LANDLOCK_LAYER_LIMIT", NAME, {"errno": errno}, [remedy("fewer_layers")])
    if errno == "EINVAL" and stage == "ruleset":
        return finding("LANDLOCK_ABI_LIES", NAME, {"abi": abi, "errno": errno}, [remedy("report_kernel")])
    if errno == "SIGSYS":
        return finding(
            "LANDLOCK_SECCOMP_KILL", NAME, {"signal": errno, **seen.around}, seen.filter_remedies("unit_allow_landlock")
        )
    if errno in ("EPERM", "EACCES") and seen.label:
        return finding("LANDLOCK_REFUSED_BY_PROFILE", NAME, {"stage": stage, "errno": errno, "label": seen.label},
                       [remedy("profile_allow_landlock", label=seen.label)])
    if errno in ("EPERM", "ENOSYS") and seen.seccomp == 2:
        return finding(
            "LANDLOCK_SECCOMP_EPERM", NAME, {"errno": errno, **seen.around}, seen.filter_remedies("unit_allow_landlock")
        )
    return _refused(seen, stage, errno)


def _one_test(seen: Seen, abi: int, test: dict[str, Any]) -> list[dict[str, Any]]:
    if test.get("passed"):
        return []
    folder, stages = str(test.get("folder")), test.get("stages") or []
    open_ = [row["name"] for row in stages if row.get("wanted") == "denied" and row.get("got") == "allowed"]
    closed = [row for row in stages if row.get("wanted") == "allowed" and row.get("got") != "allowed"]
    if open_ and open_ != [SOCKET_ACT]:
        return [
            finding(
                "LANDLOCK_NOT_ENFORCED", NAME, {"abi": abi, "folder": folder, "acts": open_}, [remedy("report_kernel")]
            )
        ]
    if open_:
        return [_exposed(seen, abi)]
    if closed:
        kind = _file_system(seen, folder)
        return [
            finding(
                "LANDLOCK_FOLDER_ALLOW_FAILS",
                NAME,
                {"folder": folder, "type": kind, "errno": closed[0].get("errno")},
                [remedy("move_folder", folder=folder, type=kind or "its file system"), remedy("grant_parent")],
            )
        ]
    return [_incomplete(folder, str(test.get("reason") or "no reason was given"))]


def _incomplete(folder: str, reason: str) -> dict[str, Any]:
    return finding(
        "LANDLOCK_SELF_TEST_INCOMPLETE",
        NAME,
        {"folder": folder, "reason": reason},
        [remedy("free_folder", folder=folder)],
    )


def _file_system(seen: Seen, folder: str) -> str | None:
    rows = [seen.value("folders.home", {}), *seen.value("folders.workspaces", [])]
    return next((row.get("type") for row in rows if row.get("path") == folder), None)


def _older(seen: Seen, abi: int) -> list[dict[str, Any]]:
    lacking = [row for row in NEWER if row[0] > abi]
    findings = []
    if lacking:
        findings.append(
            finding(
                "LANDLOCK_OLDER_ABI",
                NAME,
                {
                    "abi": abi,
                    "by_filter": [row[1] for row in lacking if row[2]],
                    "unavailable": [row[1] for row in lacking if not row[2]],
                },
            )
        )
    if abi < 2:
        findings.append(finding("LANDLOCK_NO_RENAME_BETWEEN_FOLDERS", NAME, {"abi": abi}, _kernel(seen)))
    return findings


def _sockets(seen: Seen, abi: int, passed: list[dict[str, Any]]) -> list[dict[str, Any]]:
    reachable = _strong(seen)
    if not reachable:
        return []
    seen_closed = all(
        any(row["name"] == SOCKET_ACT and row["got"] == "denied" for row in test.get("stages") or []) for test in passed
    )
    if not seen_closed:
        return [_exposed(seen, abi)]
    if abi >= 9:
        return []
    return [finding("LANDLOCK_SOCKETS_ALL_OR_NOTHING", NAME, {"abi": abi, "sockets": reachable},
                    [remedy("no_unix_grant"), *_leave(reachable)])]


def _exposed(seen: Seen, abi: int) -> dict[str, Any]:
    reachable = _strong(seen)
    return finding(
        "LANDLOCK_SOCKETS_EXPOSED",
        NAME,
        {"abi": abi, "sockets": reachable},
        [*_leave(reachable), remedy("report_kernel")],
    )


def _leave(paths: list[str]) -> list[dict[str, Any]]:
    return (
        [remedy("leave_group", sockets=", ".join(paths))]
        if any(path.startswith(("/var/run/", "/run/containerd")) for path in paths)
        else []
    )


def _strong(seen: Seen) -> list[str]:
    """Reachable sockets that give root or the user's rights outside."""
    return [row["path"] for row in seen.value("sockets.reachable", [])
            if row.get("state") == "reachable" and row.get("gives") in ("root", "user")]
