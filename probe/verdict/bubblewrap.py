"""The verdict on bubblewrap, from a real run."""
from __future__ import annotations

from typing import Any

from . import namespaces
from .seen import Seen, finding, mechanism, remedy

NAME = "bubblewrap"


def judge(seen: Seen) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(mechanism, findings)."""
    state, causes = namespaces.judge(seen)
    run = seen.value("bubblewrap.run", {})
    program = seen.fact("bubblewrap.program")
    evidence = {
        "path": seen.value("bubblewrap.program", {}).get("resolved"),
        "said": run.get("said") or None,
        "stage": seen.value("namespaces.stages", {}).get("failed"),
        "errno": seen.value("namespaces.stages", {}).get("errno"),
        "label": run.get("label") or seen.value("namespaces.stages", {}).get("label"),
    }
    if program["state"] != "known":
        if program["state"] == "unknown":
            return mechanism("unknown", causes, evidence), causes
        findings = [finding("BUBBLEWRAP_NOT_INSTALLED", NAME, {"searched": program["how"]},
                            [*seen.instead("use_landlock"), remedy("install_bubblewrap")]), *causes]
        return mechanism("absent", findings, evidence), findings
    if not run:
        return mechanism("unknown" if state == "usable" else state, causes, evidence), causes
    if run.get("passed"):
        # A profile for bwrap may let it do what nobody else may.
        findings = _works(seen, run) + [entry for entry in causes if entry["code"] == "USERNS_USABLE"]
        state = "limited" if any(entry["severity"] != "info" for entry in findings) else "usable"
    else:
        findings = [*_fails(seen, run, state), *causes]
        state = "blocked"
    if seen.root and exempt(seen):
        state = "unknown"
    return mechanism(state, findings, evidence), findings


def exempt(seen: Seen) -> list[str]:
    """The restrictions on users that root does not feel."""
    found = []
    if seen.value("namespaces.apparmor_restrict") == 1:
        found.append("kernel.apparmor_restrict_unprivileged_userns=1")
    if seen.value("namespaces.unprivileged_clone") == 0:
        found.append("kernel.unprivileged_userns_clone=0")
    return found


def _works(seen: Seen, run: dict[str, Any]) -> list[dict[str, Any]]:
    program = seen.value("bubblewrap.program", {})
    findings = [finding("BUBBLEWRAP_USABLE", NAME, {
        "path": program.get("resolved"), "label": run.get("label"), "bounding_set": run.get("bounding_set")})]
    nested = seen.value("bubblewrap.nested", {})
    if nested and not nested.get("passed"):
        findings.append(finding("USERNS_ONE_LEVEL_ONLY", NAME, {
            "said": nested.get("said"), "label": run.get("label"), "bounding_set": run.get("bounding_set"),
            "container": seen.container}, seen.instead("use_landlock")))
    return findings + _overbroad(seen, run)


def _overbroad(seen: Seen, run: dict[str, Any]) -> list[dict[str, Any]]:
    rows = [row for row in namespaces.profiles_of(seen, "bwrap")
            if row.get("unconfined") and not row.get("stock") and not row.get("disabled")]
    if not rows or not namespaces.restricted(seen):
        return []
    file = f"/etc/apparmor.d/{rows[0]['file']}"
    return [finding("BUBBLEWRAP_PROFILE_OVERBROAD", NAME, {
        "file": file, "label": run.get("label"), "bounding_set": run.get("bounding_set")},
        [remedy("restore_stock_profile", file=file)])]


def _fails(seen: Seen, run: dict[str, Any], namespaces_state: str) -> list[dict[str, Any]]:
    """The cause, from profiles and stages first: the same sentence of bwrap has several."""
    said = str(run.get("said") or "")
    path = str(seen.value("bubblewrap.program", {}).get("resolved"))
    around = {"said": said, "container": seen.container}
    cures = seen.instead("use_landlock")
    rows = namespaces.profiles_of(seen, "bwrap")
    acting = [row for row in rows if not row.get("disabled")]
    if len({row["file"] for row in acting}) > 1:
        files = [f"/etc/apparmor.d/{row['file']}" for row in acting]
        return [finding("BUBBLEWRAP_PROFILE_CONFLICT", NAME, {"path": path, "files": files},
                        [*cures, remedy("keep_one_profile", files=" and ".join(files))])]
    if seen.value("context.inside_wrapper"):
        return [finding("BUBBLEWRAP_INSIDE_LANDLOCK", NAME, {"said": said}, [remedy("probe_outside")])]
    if namespaces_state == "blocked" and namespaces.restricted(seen) and not seen.container:
        if rows:
            return [finding("BUBBLEWRAP_PROFILE_NOT_ACTIVE", NAME, {
                "path": path, "file": f"/etc/apparmor.d/{rows[0]['file']}", "disabled": bool(rows[0].get("disabled"))},
                [*cures, namespaces.existing_profile(rows[0], path)])]
        return [finding("BUBBLEWRAP_PATH_NOT_PROFILED", NAME, {"path": path, "said": said, "profiles": []},
                        [*cures, *namespaces.apparmor_remedies(seen)])]
    outside = [remedy("container_outside")] if seen.container else []
    if "mount proc" in said or "/proc/sys/kernel/overflow" in said:
        if not seen.container and seen.unit:
            outside = seen.filter_remedies("unit_allow_namespaces")
        return [
            finding(
                "BUBBLEWRAP_PROC_DENIED", NAME, {**around, "unit": (seen.unit or {}).get("name")}, [*cures, *outside]
            )
        ]
    if "make / slave" in said:
        return [finding("BUBBLEWRAP_MOUNT_DENIED", NAME, around, [*cures, *outside])]
    if namespaces_state == "usable":
        return [finding("BUBBLEWRAP_OPTIONS_FAIL", NAME, {"path": path, "said": said, "exit": run.get("exit")}, cures)]
    return []
