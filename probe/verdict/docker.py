"""The verdict on Docker: which client, which daemon, for whom, and within which limits."""
from __future__ import annotations

from typing import Any

from . import namespaces
from .seen import Seen, finding, mechanism, remedy

NAME = "docker"
NOBODY = ("ENOENT", "ENOTDIR", "ECONNREFUSED")
CLOSED = ("EACCES", "EPERM")


def judge(seen: Seen, servers: list[dict[str, Any]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(mechanism, findings). `servers` are those of this host that start a container (see `servers.hits`)."""
    clients, endpoints = seen.value("docker.clients", []), seen.value("docker.endpoints", [])
    client = clients[0] if clients else {}
    chosen = endpoints[0] if endpoints else {}
    origin = client_origin(seen)
    evidence = {
        "client": client.get("path"),
        "client_origin": origin,
        "daemon_origin": daemon_origin(seen),
        "socket": chosen.get("path"),
        "errno": None if chosen.get("state") == "answers" else chosen.get("state"),
        "chosen_by": chosen.get("chosen_by"),
    }
    if seen.unknown("docker.clients"):
        return mechanism("unknown", [], evidence), []
    answers = [row for row in endpoints if row.get("state") == "answers"]
    if (
        not client
        and not answers
        and not _snap_signs(seen)
        and not any(row.get("state") in CLOSED for row in endpoints)
    ):
        findings = [finding("DOCKER_NOT_INSTALLED", NAME, {"searched": seen.fact("docker.clients")["how"]})]
        return mechanism("absent", findings, evidence), findings
    findings = (
        []
        if client
        else [
            finding(
                "DOCKER_CLIENT_MISSING",
                NAME,
                {"searched": seen.fact("docker.clients")["how"]},
                [remedy("install_docker_client")],
            )
        ]
    )
    findings += _reach(seen, chosen, client)
    findings += _kind(seen, chosen, client)
    findings += _snap(seen, servers)
    findings += _mixed(seen)
    findings += _rootless(seen)
    return mechanism(_state(chosen, findings), findings, evidence), findings


def _state(chosen: dict[str, Any], findings: list[dict[str, Any]]) -> str:
    severities = {entry["severity"] for entry in findings}
    if "error" in severities:
        return "blocked"
    if chosen.get("state") != "answers":
        return "unknown"
    return "limited" if "warning" in severities else "usable"


def client_origin(seen: Seen) -> str | None:
    clients = seen.value("docker.clients", [])
    return clients[0].get("origin") if clients else None


def daemon_origin(seen: Seen) -> str | None:
    """Whose daemon the chosen endpoint leads to; None when nothing tells."""
    endpoints = seen.value("docker.endpoints", [])
    origin = endpoints[0].get("origin") if endpoints else None
    if origin in (None, "unknown"):
        if seen.value("docker.snap.daemon", {}):
            return "snap"
        return None
    return str(origin)


def from_snap(seen: Seen) -> bool:
    """Snap's Docker is what a server meets here, as client, as daemon, or as the only one installed."""
    client, daemon = client_origin(seen), daemon_origin(seen)
    return "snap" in (client, daemon) or (client is None and daemon is None and bool(_snap_signs(seen)))


def _snap_signs(seen: Seen) -> list[str]:
    """Every sign of an installed snap, strongest first. Data alone is what a removed snap leaves."""
    signs = []
    if seen.value("docker.snap.snapd", {}).get("status") in ("active", "installed"):
        signs.append("snapd")
    if seen.value("docker.snap.mount", {}):
        signs.append("mount")
    signs += ["file"] if seen.value("docker.snap.files", []) else []
    signs += ["unit"] if seen.value("docker.snap.unit") else []
    signs += ["profile"] if seen.value("docker.snap.profile") else []
    signs += ["instances"] if seen.value("docker.snap.instances", []) else []
    signs += ["daemon"] if seen.value("docker.snap.daemon", {}) else []
    return signs


def _reach(seen: Seen, chosen: dict[str, Any], client: dict[str, Any]) -> list[dict[str, Any]]:
    state, path = chosen.get("state"), chosen.get("path")
    if not chosen or state == "not asked":
        return (
            [finding("DOCKER_REMOTE", NAME, {"scheme": chosen.get("scheme"), "chosen_by": chosen.get("chosen_by")})]
            if chosen.get("scheme") not in (None, "unix")
            else []
        )
    if state == "answers":
        return [
            finding(
                "DOCKER_USABLE",
                NAME,
                {"client": client.get("path"), "origin": chosen.get("origin"), "version": chosen.get("version")},
            )
        ]
    if state in NOBODY:
        command = {"snap": "snap start docker", "desktop": "systemctl --user start docker-desktop"}.get(
            str(client.get("origin")), "systemctl start docker")
        return [finding("DOCKER_DAEMON_DOWN", NAME, {"socket": path, "errno": state, "client": client.get("path")},
                        [*seen.instead("wrap_instead"), remedy("start_daemon", command=command)])]
    if state in CLOSED:
        group = seen.value("docker.group", {})
        if group.get("in_database") and not group.get("in_session"):
            return [
                finding("DOCKER_GROUP_NOT_REFRESHED", NAME, {"socket": path, "group": group}, [remedy("new_session")])
            ]
        return [
            finding(
                "DOCKER_NO_PERMISSION",
                NAME,
                {"socket": path, "errno": state, "group": group or None},
                [*seen.instead("wrap_instead"), remedy("rootless_docker"), remedy("docker_group", user=seen.user)],
            )
        ]
    return [finding("DOCKER_NO_ANSWER", NAME, {"socket": path, "said": state})]


def _kind(seen: Seen, chosen: dict[str, Any], client: dict[str, Any]) -> list[dict[str, Any]]:
    findings = []
    if client.get("origin") == "podman" or chosen.get("engine") == "podman":
        findings.append(finding("DOCKER_IS_PODMAN", NAME, {"client": client.get("path")}))
    if chosen.get("origin") == "desktop" or client.get("origin") == "desktop":
        findings.append(finding("DOCKER_DESKTOP", NAME, {"socket": chosen.get("path")}))
    if chosen.get("origin") == "rootless":
        findings.append(finding("DOCKER_ROOTLESS", NAME, {"socket": chosen.get("path")}))
    return findings


def confined_by_apparmor(seen: Seen) -> bool:
    """Snap's confinement acts only where AppArmor is on and the snap is not in devmode."""
    snapd = seen.value("docker.snap.snapd", {})
    if snapd.get("devmode") or snapd.get("confinement") == "classic":
        return False
    daemon = seen.value("docker.snap.daemon", {})
    return bool(daemon["confined"]) if "confined" in daemon else seen.value("apparmor.enabled") is not False and \
        seen.fact("apparmor.enabled")["state"] != "absent"


def _snap(seen: Seen, servers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    if not from_snap(seen):
        return []
    confined = confined_by_apparmor(seen)
    client, daemon = client_origin(seen), daemon_origin(seen)
    findings = [
        finding(
            "DOCKER_SNAP", NAME, {"client": client, "daemon": daemon, "signs": _snap_signs(seen), "confined": confined}
        )
    ]
    if confined and daemon in ("snap", None):
        findings.append(_limit("DOCKER_SNAP_NO_NEW_PRIVILEGES", servers, {"daemon": daemon},
                               [remedy("docker_from_packages")], seen))
    findings.append(_limit("DOCKER_SNAP_PATHS", servers, {"home": seen.home}, [
        remedy("move_below_home", home=seen.home), remedy("absolute_paths"), remedy("docker_from_packages")], seen))
    if client == "snap":
        findings += _snap_client(seen)
    leftovers = [
        path for path in seen.value("docker.package_files", []) if path != "/var/lib/docker" and "dockerd" not in path
    ]
    if confined and leftovers:
        findings.append(
            finding("DOCKER_SNAP_STALE_PROFILE", NAME, {"leftovers": leftovers}, [remedy("reload_docker_default")])
        )
    return findings


def _limit(
    code: str, servers: list[dict[str, Any]], evidence: dict[str, Any], cures: list[dict[str, Any]], seen: Seen
) -> dict[str, Any]:
    """One of snap's two limits, with the servers of this host that meet it."""
    hit = [(row, entry) for row in servers for entry in row["arguments"] if entry["code"] == code]
    evidence = {
        **evidence,
        "servers": list(dict.fromkeys(row["server"] for row, _ in hit)),
        "arguments": [
            {"server": row["server"], "flag": entry["flag"], "position": entry["position"], "says": entry["says"]}
            for row, entry in hit
        ],
    }
    if servers:
        cures = [*seen.instead("wrap_instead"), *cures]
    if code == "DOCKER_SNAP_NO_NEW_PRIVILEGES" and hit:
        cures.append(remedy("drop_option", options=" and ".join(sorted({entry["flag"] for _, entry in hit})),
                            servers=", ".join(evidence["servers"])))
    return finding(code, NAME, evidence, cures)


def _snap_client(seen: Seen) -> list[dict[str, Any]]:
    findings = []
    if seen.no_new_privileges:
        cures = [*seen.instead("wrap_instead"), remedy("client_without_nnp")]
        if seen.unit:
            cures.append(
                remedy("unit_for_snap", unit=seen.unit["name"], user_flag="--user " if seen.unit.get("user") else "")
            )
        findings.append(finding("DOCKER_SNAP_CLIENT_NO_NEW_PRIVILEGES", NAME, {
            "no_new_privileges": True, "unit": (seen.unit or {}).get("name")}, cures))
    if not seen.home.startswith("/home/") and not seen.root:
        parent = seen.home.rpartition("/")[0] or "/"
        findings.append(finding("DOCKER_SNAP_HOME_OUTSIDE", NAME, {"home": seen.home},
                                [*seen.instead("wrap_instead"), remedy("homedirs", parent=parent)]))
    return findings


def _mixed(seen: Seen) -> list[dict[str, Any]]:
    clients = seen.value("docker.clients", [])
    client, daemon = client_origin(seen), daemon_origin(seen)
    origins = {row.get("origin") for row in clients}
    differ = client in ("snap", "package") and daemon in ("snap", "package") and client != daemon
    both = "/usr/bin/dockerd" in seen.value("docker.package_files", []) and bool(_snap_signs(seen))
    if not differ and not both and not {"snap", "package"} <= origins:
        return []
    return [
        finding(
            "DOCKER_MIXED_ORIGIN",
            NAME,
            {"client": client, "daemon": daemon, "clients": [row.get("path") for row in clients]},
            [remedy("one_docker")],
        )
    ]


def _rootless(seen: Seen) -> list[dict[str, Any]]:
    """rootlesskit is here, no rootless daemon answers, and AppArmor is in its way."""
    kit = seen.value("docker.rootlesskit", {})
    endpoints = seen.value("docker.endpoints", [])
    if (
        not kit
        or seen.root
        or not namespaces.restricted(seen)
        or any(row.get("state") == "answers" for row in endpoints)
    ):
        return []
    stages = seen.value("namespaces.stages", {})
    return [
        finding(
            "DOCKER_ROOTLESS_BLOCKED",
            NAME,
            {"path": kit.get("resolved"), "stage": stages.get("failed"), "errno": stages.get("errno")},
            [*seen.instead("wrap_instead"), *namespaces.apparmor_remedies(seen, "rootlesskit")],
        )
    ]
