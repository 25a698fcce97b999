"""Findings about where and as whom the probe ran."""
from __future__ import annotations

from typing import Any

from .bubblewrap import exempt
from .seen import Seen, finding, remedy


def judge(seen: Seen) -> list[dict[str, Any]]:
    """Findings that belong to no single mechanism."""
    findings: list[dict[str, Any]] = []
    if seen.root:
        findings.append(finding("PROBE_AS_ROOT", None, {"restrictions": exempt(seen)}, [remedy("probe_as_user")]))
    if seen.value("context.inside_wrapper"):
        findings.append(finding("PROBE_INSIDE_WRAPPER", None, {}, [remedy("probe_outside")]))
    findings += _container(seen) + _wsl(seen) + _unit(seen)
    if seen.value("context.snap"):
        findings.append(finding("CONTEXT_SNAP_CLIENT", None, {"name": seen.value("context.snap"), "label": seen.label}))
    markers = [
        name for name in seen.value("context.markers", []) if name in ("GITHUB_ACTIONS", "GITLAB_CI", "CODESPACES")
    ]
    if markers:
        findings.append(finding("CONTEXT_CI", None, {"markers": markers}))
    scope = seen.value("lsm.yama_ptrace_scope", 0)
    if scope >= 2 and not seen.root:
        findings.append(finding("TRACING_RESTRICTED", None, {"ptrace_scope": scope}))
    problems = seen.facts.get("problems") or []
    if problems:
        findings.append(finding("PROBE_INCOMPLETE", None, {"subjects": problems}))
    return findings


def _container(seen: Seen) -> list[dict[str, Any]]:
    hints = seen.container_hints
    if not hints:
        return []
    if seen.container:
        return [finding("CONTEXT_CONTAINER", None, {"kind": seen.container, "signs": seen.container_signs()})]
    if seen.unknown("context.status"):
        return []
    return [finding("CONTEXT_CONTAINER_HINT_ONLY", None, {"kind": hints[0]})]


def _wsl(seen: Seen) -> list[dict[str, Any]]:
    if seen.value("context.wsl") != 2:
        return []  # WSL 1 is Landlock's own finding
    return [finding("CONTEXT_WSL2", None, {"release": seen.value("kernel.release")})]


def _unit(seen: Seen) -> list[dict[str, Any]]:
    unit = seen.unit
    if not unit or seen.container or not (seen.seccomp or seen.no_new_privileges):
        return []
    return [
        finding(
            "CONTEXT_UNIT_HARDENED",
            None,
            {"unit": unit["name"], "no_new_privileges": seen.no_new_privileges, "seccomp": seen.seccomp},
            [remedy("probe_outside")],
        )
    ]
