"""Why user namespaces work or do not, from the first stage that failed."""
from __future__ import annotations

from typing import Any

from .seen import Seen, finding, remedy

EXTRA = "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
STRIPPED = "unprivileged_userns"  # the profile into which Ubuntu moves who makes a namespace without permission
FIRST = "make user namespace"
MOUNTING = ("make mount namespace", "make / slave")
DENIED = ("EPERM", "EACCES")


def judge(seen: Seen) -> tuple[str, list[dict[str, Any]]]:
    """("usable", "blocked" or "unknown", findings); for the mechanisms that are built on namespaces."""
    stages = seen.value("namespaces.stages", {})
    if not stages:
        return "unknown", []
    if not stages.get("failed"):
        return "usable", [finding("USERNS_USABLE", "bubblewrap", {"passed": stages.get("passed")})]
    return "blocked", [_failed(seen, stages)]


def restricted(seen: Seen) -> bool:
    """AppArmor's restriction is on, or its profile was seen at work."""
    label = str(seen.value("namespaces.stages", {}).get("label") or "")
    return label.startswith(STRIPPED) or f"&{STRIPPED}" in label or seen.value("namespaces.apparmor_restrict") == 1


def _failed(seen: Seen, stages: dict[str, Any]) -> dict[str, Any]:
    stage, errno = str(stages.get("failed")), str(stages.get("errno"))
    evidence = {"stage": stage, "errno": errno, "label": stages.get("label")}
    label = str(stages.get("label") or "")

    def found(code: str, cures: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        return finding(code, "bubblewrap", {**evidence, **more}, [*seen.instead("use_landlock"), *cures])

    if STRIPPED in label:
        return found(
            "USERNS_APPARMOR_RESTRICTED", apparmor_remedies(seen), restrict=seen.value("namespaces.apparmor_restrict")
        )
    if errno == "SIGSYS":
        return found("USERNS_SECCOMP", seen.filter_remedies("unit_allow_namespaces"), **seen.around)
    if stage == FIRST:
        return _not_made(seen, errno, found)
    if errno in DENIED and restricted(seen) and not seen.root:
        return found(
            "USERNS_APPARMOR_RESTRICTED", apparmor_remedies(seen), restrict=seen.value("namespaces.apparmor_restrict")
        )
    if errno in DENIED and stage in MOUNTING:
        cures = [remedy("container_outside")] if seen.container else [remedy("probe_outside")]
        return found("USERNS_MOUNT_DENIED", cures, container=seen.container)
    if errno in DENIED and seen.seccomp == 2:
        return found("USERNS_SECCOMP", seen.filter_remedies("unit_allow_namespaces"), **seen.around)
    return found("USERNS_REFUSED", [remedy("probe_outside")])


def _not_made(seen: Seen, errno: str, found: Any) -> dict[str, Any]:
    clone, most = seen.value("namespaces.unprivileged_clone"), seen.value("namespaces.most")
    module = seen.value("namespaces.module_enabled", "")
    if module.upper().startswith("N"):
        return found("USERNS_OFF_AT_BOOT", [remedy("rhel7_namespaces")], parameter="namespace.unpriv_enable")
    if errno == "ENOSPC":
        cures = [] if most else [remedy("raise_limit", wanted=15000, now=most if most is not None else "OLD")]
        return found("USERNS_LIMIT_REACHED", cures, limit=most)
    if errno in ("EINVAL", "ENOSYS"):
        if errno == "ENOSYS" and seen.seccomp == 2:
            return found("USERNS_SECCOMP", seen.filter_remedies("unit_allow_namespaces"), **seen.around)
        return found("USERNS_NOT_BUILT", [])
    if errno in DENIED:
        if clone == 0 and not seen.root:
            return found("USERNS_DISABLED_BY_SYSCTL", [remedy("clone_sysctl")], value=clone)
        if seen.value("context.chroot"):
            return found("USERNS_IN_CHROOT", [remedy("leave_chroot")])
        if seen.seccomp == 2:
            return found("USERNS_SECCOMP", seen.filter_remedies("unit_allow_namespaces"), **seen.around)
        if seen.value("namespaces.apparmor_restrict") == 1 and not seen.root:
            return found("USERNS_APPARMOR_RESTRICTED", apparmor_remedies(seen), restrict=1)
        if seen.value("lsm.selinux_enforcing"):
            return found("USERNS_SELINUX", [remedy("selinux_policy", program="PROGRAM")])
    return found("USERNS_REFUSED", [remedy("probe_outside")])


def profiles_of(seen: Seen, program: str) -> list[dict[str, Any]]:
    return [row for row in seen.value("apparmor.profiles", []) if row.get("program") == program]


def apparmor_remedies(seen: Seen, program: str = "bwrap") -> list[dict[str, Any]]:
    """Narrow to broad. A path that has a profile gets no second one, and the sysctl comes last."""
    found = seen.value("bubblewrap.program" if program == "bwrap" else f"docker.{program}", {})
    path = str(found.get("resolved") or f"/usr/bin/{program}")
    cures = []
    attached = profiles_of(seen, program)
    if attached:
        cures.append(existing_profile(attached[0], path))
    elif program == "bwrap" and path == "/usr/bin/bwrap":
        name = "load_stock_profile" if seen.value("apparmor.extra_profile") else "install_stock_profile"
        cures.append(remedy(name, extra=EXTRA, bwrap=path))
    else:
        cures.append(remedy("profile_for_path", path=path, profile_name=profile_name(path)))
    if program == "bwrap":
        cures.append(remedy("apparmor_sysctl"))
    return cures


def existing_profile(row: dict[str, Any], path: str) -> dict[str, Any]:
    file = f"/etc/apparmor.d/{row['file']}"
    if row.get("disabled"):
        return remedy("enable_profile", name=row["name"], file=file, file_name=row["file"])
    return remedy("reload_profile", file=file, path=path)


def profile_name(path: str) -> str:
    """A file name that no distribution uses; one called `bwrap` would replace the stock profile."""
    return "local." + path.strip("/").replace("/", ".")
