"""Why Landlock is not there or refuses: from the errno, the stage and what is around this process."""
from __future__ import annotations

from typing import Any

from . import boot_list
from .seen import Seen, finding, remedy

KERNELS = {
    "debian": "any Debian kernel since 12 has it",
    "ubuntu": "Ubuntu's own kernels since 22.04 have it",
    "fedora": "Fedora's own kernels have it",
    "rhel": "RHEL's kernels have it from 9.6",
    "raspbian": "Raspberry Pi OS kernels leave it out; Debian's arm64 kernels have it",
}
ANY_KERNEL = "5.13 or newer, as the distribution's own kernel mostly is"


def by_version(seen: Seen) -> dict[str, Any] | None:
    """The finding for a kernel that did not name a version; None when it was not heard why."""
    errno = seen.why("landlock.abi")
    if seen.value("context.wsl") == 1:
        return _finding("CONTEXT_WSL1", {"release": seen.value("kernel.release")}, remedy("wsl2", distribution="NAME"))
    if seen.value("context.gvisor"):
        return _finding("CONTEXT_GVISOR", {"version": seen.value("kernel.version")}, remedy("another_runtime"))
    if errno == "EOPNOTSUPP":
        return _off_at_boot(seen)
    if errno == "ENOSYS":
        return _no_such_call(seen)
    if errno in ("EPERM", "EACCES", "SIGSYS"):
        return _filtered(seen, errno)
    return _other(seen, "version", errno) if errno.startswith("E") and errno.isalnum() else None


def by_stage(seen: Seen, abi: int, stage: str, errno: str) -> dict[str, Any]:
    """The finding for a kernel that named a version and then refused the ruleset ("ruleset") or us ("restrict")."""
    if (stage, errno) == ("restrict", "E2BIG"):
        return _finding("LANDLOCK_LAYER_LIMIT", {"errno": errno}, remedy("fewer_layers"))
    if (stage, errno) == ("ruleset", "EINVAL"):
        return _finding("LANDLOCK_ABI_LIES", {"abi": abi, "errno": errno}, remedy("report_kernel"))
    if errno in ("EPERM", "EACCES") and seen.label:
        about = {"stage": stage, "errno": errno, "label": seen.label}
        return _finding("LANDLOCK_REFUSED_BY_PROFILE", about, remedy("profile_allow_landlock", label=seen.label))
    if errno == "SIGSYS" or (errno in ("EPERM", "ENOSYS") and seen.seccomp == 2):
        return _filtered(seen, errno)
    return _other(seen, stage, errno)


def another_kernel(seen: Seen) -> list[dict[str, Any]]:
    """The remedy for a kernel without what is needed; nothing inside a container can change its kernel."""
    if seen.container:
        return []
    distribution = seen.facts.get("distribution") or {}
    return [remedy("kernel_with_landlock", kernel_hint=KERNELS.get(str(distribution.get("id")), ANY_KERNEL))]


def _no_such_call(seen: Seen) -> dict[str, Any]:
    built = seen.value("lsm.built", {}).get("CONFIG_SECURITY_LANDLOCK")
    if seen.seccomp == 0 or built == "n":
        about = {"errno": "ENOSYS", "release": seen.value("kernel.release"), "built": built}
        return _finding("LANDLOCK_NOT_BUILT", about, *another_kernel(seen))
    about = {"errno": "ENOSYS", **seen.around}
    return _finding("LANDLOCK_SECCOMP_ENOSYS", about, *seen.filter_remedies("unit_allow_landlock"))


def _filtered(seen: Seen, errno: str) -> dict[str, Any]:
    cures = seen.filter_remedies("unit_allow_landlock")
    if errno == "SIGSYS":
        return _finding("LANDLOCK_SECCOMP_KILL", {"signal": errno, **seen.around}, *cures)
    return _finding("LANDLOCK_SECCOMP_EPERM", {"errno": errno, **seen.around}, *cures)


def _off_at_boot(seen: Seen) -> dict[str, Any]:
    parameters, active = seen.value("boot.parameters", {}), seen.value("lsm.active", []) or None
    waiting, told = boot_list.pending(seen), str(parameters.get("lsm", ""))
    if waiting:
        about = {"file": waiting["file"], "value": waiting["value"]}
        return _finding("LANDLOCK_REBOOT_PENDING", about, remedy("reboot", file=waiting["file"]))
    about = {"errno": "EOPNOTSUPP", "parameters": parameters, "active": active}
    if "landlock" in told.split(","):
        return _finding(
            "LANDLOCK_BOOT_LIST_IGNORED", about, remedy("lsm_check_command_line", parameter="lsm", told=told)
        )
    return _finding("LANDLOCK_OFF_AT_BOOT", {**about, "loader": seen.value("boot.loader")}, *boot_list.remedies(seen))


def _other(seen: Seen, stage: str, errno: str) -> dict[str, Any]:
    about = {"stage": stage, "errno": errno, "seccomp": seen.seccomp, "label": seen.label}
    return _finding("LANDLOCK_REFUSED", about, remedy("probe_outside"))


def _finding(code: str, about: dict[str, Any], *cures: dict[str, Any]) -> dict[str, Any]:
    return finding(code, "landlock", about, list(cures))
