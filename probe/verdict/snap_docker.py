"""Docker from snap: whether it is what servers meet here, what it does not do, and which servers that hits."""
from __future__ import annotations

from typing import Any

from .seen import Seen, finding, remedy

NAME = "docker"
PRIVILEGES, PATHS = "DOCKER_SNAP_NO_NEW_PRIVILEGES", "DOCKER_SNAP_PATHS"
# Left behind by a package whose docker-default profile may still be loaded.
LEFTOVERS = ("/var/lib/dpkg/info/docker.io.list", "/var/lib/dpkg/info/docker-ce.list", "/etc/apparmor.d/docker",
             "/etc/apparmor.d/docker-default")


def client_origin(seen: Seen) -> str | None:
    """Where the docker command comes from that servers find; None when there is none."""
    clients = seen.value("docker.clients", [])
    return clients[0].get("origin") if clients else None


def daemon_origin(seen: Seen) -> str | None:
    """Whose daemon the chosen endpoint leads to; None when nothing tells."""
    endpoints = seen.value("docker.endpoints", [])
    origin = endpoints[0].get("origin") if endpoints else None
    if origin not in (None, "unknown"):
        return str(origin)
    return "snap" if seen.value("docker.snap.daemon", {}) else None


def signs(seen: Seen) -> list[str]:
    """Every sign of an installed snap, the strongest first. Its data alone is what a removed snap leaves."""
    found = {
        "snapd": seen.value("docker.snap.snapd", {}).get("status") in ("active", "installed"),
        "mount": seen.value("docker.snap.mount"),
        "file": seen.value("docker.snap.files"),
        "unit": seen.value("docker.snap.unit"),
        "profile": seen.value("docker.snap.profile"),
        "instance": seen.value("docker.snap.instances"),
        "daemon": seen.value("docker.snap.daemon"),
    }
    return [name for name, here in found.items() if here]


def confined(seen: Seen) -> bool:
    """Snap's confinement acts only where AppArmor is on and the snap is neither classic nor in devmode."""
    snapd, daemon = seen.value("docker.snap.snapd", {}), seen.value("docker.snap.daemon", {})
    if snapd.get("devmode") or snapd.get("confinement") == "classic":
        return False
    if "confined" in daemon:
        return bool(daemon["confined"])
    # Where it is not known whether AppArmor is on, the limits are named: an unfounded warning costs less.
    return seen.fact("apparmor.enabled")["state"] != "absent" and seen.value("apparmor.enabled") is not False


def judge(seen: Seen, servers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Findings, none where servers meet another Docker."""
    client, daemon = client_origin(seen), daemon_origin(seen)
    alone = client is None and daemon is None and bool(signs(seen))
    if "snap" not in (client, daemon) and not alone:
        return []
    acts = confined(seen)
    findings = [
        finding("DOCKER_SNAP", NAME, {"client": client, "daemon": daemon, "signs": signs(seen), "confined": acts})
    ]
    if acts and daemon in ("snap", None):
        findings.append(_privileges(seen, servers, daemon))
    findings.append(_paths(seen, servers))
    if client == "snap":
        findings += _client(seen)
    leftovers = [path for path in seen.value("docker.package_files", []) if path in LEFTOVERS]
    if acts and leftovers:
        findings.append(
            finding("DOCKER_SNAP_STALE_PROFILE", NAME, {"leftovers": leftovers}, [remedy("reload_docker_default")])
        )
    return findings


def _privileges(seen: Seen, servers: list[dict[str, Any]], daemon: str | None) -> dict[str, Any]:
    about = _hits(servers, PRIVILEGES)
    cures = _wrap(seen, servers)
    if about["arguments"]:
        flags = sorted({row["flag"] for row in about["arguments"]})
        cures.append(remedy("drop_option", options=" and ".join(flags), servers=", ".join(about["servers"])))
    return finding(PRIVILEGES, NAME, {"daemon": daemon, **about}, [*cures, remedy("docker_from_packages")])


def _paths(seen: Seen, servers: list[dict[str, Any]]) -> dict[str, Any]:
    cures = [*_wrap(seen, servers), remedy("move_below_home", home=seen.home), remedy("absolute_paths"),
             remedy("docker_from_packages")]
    return finding(PATHS, NAME, {"home": seen.home, **_hits(servers, PATHS)}, cures)


def _wrap(seen: Seen, servers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return seen.instead("wrap_instead") if servers else []


def _hits(servers: list[dict[str, Any]], code: str) -> dict[str, Any]:
    """The servers of this host that meet the limit, and the arguments with which they do."""
    found = [(row["server"], entry) for row in servers for entry in row["arguments"] if entry["code"] == code]
    return {"servers": list(dict.fromkeys(server for server, _ in found)),
            "arguments": [{"server": server, **{name: entry[name] for name in ("flag", "position", "says")}}
                          for server, entry in found]}


def _client(seen: Seen) -> list[dict[str, Any]]:
    """What keeps snap's client from starting at all."""
    findings, unit = [], seen.unit
    if seen.no_new_privileges:
        cures = [*seen.instead("wrap_instead"), remedy("client_without_nnp")]
        if unit:
            cures.append(remedy("unit_for_snap", unit=unit["name"], user_flag="--user " if unit.get("user") else ""))
        about = {"no_new_privileges": True, "unit": (unit or {}).get("name")}
        findings.append(finding("DOCKER_SNAP_CLIENT_NO_NEW_PRIVILEGES", NAME, about, cures))
    if not seen.home.startswith("/home/") and not seen.root:
        parent = seen.home.rpartition("/")[0] or "/"
        cures = [*seen.instead("wrap_instead"), remedy("homedirs", parent=parent)]
        findings.append(finding("DOCKER_SNAP_HOME_OUTSIDE", NAME, {"home": seen.home}, cures))
    return findings
