"""The verdict on Docker: which client, which daemon, for whom, and within which limits."""
from __future__ import annotations

from typing import Any

from . import namespaces, snap_docker
from .seen import Seen, finding, mechanism, remedy
from .snap_docker import client_origin, daemon_origin

NAME = "docker"
NOBODY = ("ENOENT", "ENOTDIR", "ECONNREFUSED")
CLOSED = ("EACCES", "EPERM")
START = {"snap": "snap start docker", "desktop": "systemctl --user start docker-desktop"}


Judged = tuple[dict[str, Any], list[dict[str, Any]]]


def judge(seen: Seen, servers: list[dict[str, Any]], podman: Judged) -> Judged:
    """(mechanism, findings).

    `servers` are those of this host that start a container (see `servers.hits`), `podman` is the same for Podman,
    which is what a `docker` command leads to on some hosts.
    """
    clients, endpoints = seen.value("docker.clients", []), seen.value("docker.endpoints", [])
    client, chosen = (clients or [{}])[0], (endpoints or [{}])[0]
    state = chosen.get("state")
    evidence = {
        "client": client.get("path"),
        "client_origin": client_origin(seen),
        "daemon_origin": daemon_origin(seen),
        "socket": chosen.get("path"),
        "errno": None if state == "answers" else state,
        "chosen_by": chosen.get("chosen_by"),
    }
    if seen.unknown("docker.clients"):
        return mechanism("unknown", [], evidence), []
    searched = {"searched": seen.fact("docker.clients")["how"]}
    something = any(row.get("state") in ("answers", *CLOSED) for row in endpoints) or snap_docker.signs(seen)
    if not client and not something:
        findings = [finding("DOCKER_NOT_INSTALLED", NAME, searched)]
        return mechanism("absent", findings, evidence), findings
    if client.get("origin") == "podman":
        findings = [finding("DOCKER_IS_PODMAN", NAME, {"client": client["path"]}), *podman[1]]
        return mechanism(podman[0]["state"], findings, evidence), findings
    findings = []
    if not client:
        findings.append(finding("DOCKER_CLIENT_MISSING", NAME, searched, [remedy("install_docker_client")]))
    findings += _reach(seen, chosen, client)
    findings += _kind(chosen, client)
    findings += snap_docker.judge(seen, servers)
    findings += _mixed(seen)
    findings += _rootless(seen)
    return mechanism(_state(state, findings), findings, evidence), findings


def _state(endpoint: str | None, findings: list[dict[str, Any]]) -> str:
    severities = {entry["severity"] for entry in findings}
    if "error" in severities:
        return "blocked"
    if endpoint != "answers":
        return "unknown"
    return "limited" if "warning" in severities else "usable"


def _reach(seen: Seen, chosen: dict[str, Any], client: dict[str, Any]) -> list[dict[str, Any]]:
    """Whether the endpoint that a plain `docker` uses answers this user, and if not, why."""
    state, path = chosen.get("state"), chosen.get("path")
    if state == "answers":
        about = {"client": client.get("path"), "origin": chosen.get("origin"), "version": chosen.get("version")}
        return [finding("DOCKER_USABLE", NAME, about)]
    if chosen.get("scheme", "unix") != "unix":
        about = {"scheme": chosen["scheme"], "chosen_by": chosen.get("chosen_by")}
        return [finding("DOCKER_REMOTE", NAME, about)]
    if state in NOBODY:
        command = START.get(str(client.get("origin")), "systemctl start docker")
        about = {"socket": path, "errno": state, "client": client.get("path")}
        cures = [*seen.instead("wrap_instead"), remedy("start_daemon", command=command)]
        return [finding("DOCKER_DAEMON_DOWN", NAME, about, cures)]
    if state in CLOSED:
        group = seen.value("docker.group", {})
        if group.get("in_database") and not group.get("in_session"):
            about = {"socket": path, "group": group}
            return [finding("DOCKER_GROUP_NOT_REFRESHED", NAME, about, [remedy("new_session")])]
        about = {"socket": path, "errno": state, "group": group or None}
        cures = [*seen.instead("wrap_instead"), remedy("rootless_docker"), remedy("docker_group", user=seen.user)]
        return [finding("DOCKER_NO_PERMISSION", NAME, about, cures)]
    return [] if state in (None, "not asked") else [finding("DOCKER_NO_ANSWER", NAME, {"socket": path, "said": state})]


def _kind(chosen: dict[str, Any], client: dict[str, Any]) -> list[dict[str, Any]]:
    findings = []
    if chosen.get("engine") == "podman":
        findings.append(finding("DOCKER_IS_PODMAN", NAME, {"client": client.get("path")}))
    if "desktop" in (chosen.get("origin"), client.get("origin")):
        findings.append(finding("DOCKER_DESKTOP", NAME, {"socket": chosen.get("path")}))
    if chosen.get("origin") == "rootless":
        findings.append(finding("DOCKER_ROOTLESS", NAME, {"socket": chosen.get("path")}))
    return findings


def _mixed(seen: Seen) -> list[dict[str, Any]]:
    """The snap and a package together: as client and daemon, as two clients, or as two daemons."""
    clients = seen.value("docker.clients", [])
    client, daemon = client_origin(seen), daemon_origin(seen)
    both = {"snap", "package"}
    two_daemons = "/usr/bin/dockerd" in seen.value("docker.package_files", []) and snap_docker.signs(seen)
    if {client, daemon} != both and not both <= {row.get("origin") for row in clients} and not two_daemons:
        return []
    about = {"client": client, "daemon": daemon, "clients": [row.get("path") for row in clients]}
    return [finding("DOCKER_MIXED_ORIGIN", NAME, about, [remedy("one_docker")])]


def _rootless(seen: Seen) -> list[dict[str, Any]]:
    """rootlesskit is here, no daemon answers, and AppArmor is in its way."""
    kit, stages = seen.value("docker.rootlesskit", {}), seen.value("namespaces.stages", {})
    answers = any(row.get("state") == "answers" for row in seen.value("docker.endpoints", []))
    if not kit or answers or seen.root or not namespaces.restricted(seen):
        return []
    about = {"path": kit.get("resolved"), "stage": stages.get("failed"), "errno": stages.get("errno")}
    cures = [*seen.instead("wrap_instead"), *namespaces.apparmor_remedies(seen, "rootlesskit")]
    return [finding("DOCKER_ROOTLESS_BLOCKED", NAME, about, cures)]
