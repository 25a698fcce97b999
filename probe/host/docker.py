"""Docker: which client a server's command finds, which daemon answers it, and for whom. The two are told apart."""
from __future__ import annotations

import json
import os
from typing import Any

from . import snap
from .engine import ask
from .kernel import group
from .programs import Programs
from .read import below, exists, known, raw, text, value
from .sockets import runtime_folder

DEFAULT = "/var/run/docker.sock"
SHIM_LIMIT = 4096
# What a Docker package of the distribution or of docker.com leaves behind, even when it is gone.
PACKAGE_FILES = ("/usr/bin/dockerd", "/var/lib/dpkg/info/docker.io.list", "/var/lib/dpkg/info/docker-ce.list",
                 "/etc/apparmor.d/docker", "/etc/apparmor.d/docker-default", "/lib/systemd/system/docker.service",
                 "/usr/lib/systemd/system/docker.service", "/var/lib/docker")


def facts(root: str, home: str, user: str) -> dict[str, Any]:
    """{"clients": [{…, "origin"}], "endpoints": [{…}], "group", "package_files", "rootlesskit", "snap": {…}}.

    Endpoints, the chosen one first: {"path", "scheme", "chosen_by", "state", "origin", "engine", "version",
    "security_options", "system", "errors"}. `state` is "answers", an errno, "timeout" or "not asked".
    """
    programs = Programs(root, home)
    clients = [{**row, "origin": client_origin(root, row)} for row in programs.all("docker")]
    return {
        "clients": known(clients, "programs named docker where clients look"),
        "endpoints": known(
            [_endpoint(root, *place) for place in _places(root, home)], "DOCKER_HOST, contexts, sockets"
        ),
        "group": group(root, "docker", user),
        "package_files": known([path for path in PACKAGE_FILES if value(exists(root, path))], "files of packages"),
        "rootlesskit": programs.first("rootlesskit"),
        "snap": snap.facts(root),
    }


def client_origin(root: str, row: dict[str, Any]) -> str:
    """ "snap", "podman", "desktop" or "package"."""
    if row["snap"]:
        return "snap"
    if os.path.basename(row["resolved"]) == "podman":
        return "podman"
    if "/docker-desktop/" in row["resolved"] or "/.docker/" in row["resolved"] or "/mnt/wsl/" in row["resolved"]:
        return "desktop"
    try:
        head = raw(root, row["resolved"], SHIM_LIMIT)
    except OSError:
        head = b""
    return "podman" if head.startswith(b"#!") and b"podman" in head else "package"


def _places(root: str, home: str) -> list[tuple[str, str, str]]:
    """(scheme, path, chosen by), the one that a plain `docker` uses first."""
    found = []
    host = os.environ.get("DOCKER_HOST", "") if root == "/" else ""
    if host:
        found.append((*_split(host), "DOCKER_HOST"))
    else:
        name = (os.environ.get("DOCKER_CONTEXT", "") if root == "/" else "") or _current_context(root, home)
        if name and name != "default":
            found.append((*_split(_context_host(root, home, name)), f"the context {name[:40]}"))
    found.append(("unix", DEFAULT, "default"))
    for path in (
        f"{runtime_folder()}/docker.sock",
        f"{home}/.docker/desktop/docker.sock",
        f"{home}/.docker/run/docker.sock",
        f"{home}/.colima/default/docker.sock",
    ):
        if value(exists(root, path)):
            found.append(("unix", path, "its socket is there"))
    kept: dict[tuple[str, str], tuple[str, str, str]] = {}
    for place in found:
        kept.setdefault((place[0], place[1]), place)
    return list(kept.values())


def _split(host: str) -> tuple[str, str]:
    """Scheme and, for UNIX sockets alone, the path: other addresses are nobody's business here."""
    scheme, _, rest = host.partition("://")
    return (
        (scheme, rest)
        if scheme == "unix"
        else (scheme if scheme in ("tcp", "ssh", "http", "https", "fd") else "other", "")
    )


def _json(root: str, path: str) -> dict[str, Any]:
    try:
        content = json.loads(raw(root, path))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _current_context(root: str, home: str) -> str:
    name = _json(root, f"{home}/.docker/config.json").get("currentContext")
    return name if isinstance(name, str) else ""


def _context_host(root: str, home: str, name: str) -> str:
    import hashlib  # costs more than all else here, and few have contexts

    folder = hashlib.sha256(name.encode()).hexdigest()
    meta = _json(root, f"{home}/.docker/contexts/meta/{folder}/meta.json")
    try:
        host = meta["Endpoints"]["docker"]["Host"]
    except (KeyError, TypeError):
        return ""
    return host if isinstance(host, str) else ""


def _endpoint(root: str, scheme: str, path: str, chosen_by: str) -> dict[str, Any]:
    row: dict[str, Any] = {"path": path or None, "scheme": scheme, "chosen_by": chosen_by, "state": "not asked",
                           "origin": "unknown", "engine": None, "version": None, "security_options": [],
                           "system": None, "errors": []}
    if scheme != "unix" or root != "/":
        return row
    version, problem = ask(path, "/version")
    if problem:
        return {**row, "state": problem, "origin": _origin_without_answer(root, path)}
    info, problem = ask(path, "/info")
    return {**row, **engine(version, info), "state": problem or "answers"}


def engine(version: Any, info: Any) -> dict[str, Any]:
    """What the answers to /version and /info tell; both may be of any shape."""
    version = version if isinstance(version, dict) else {}
    info = info if isinstance(info, dict) else {}
    parts = version.get("Components")
    names_ = [str(part.get("Name")) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    options = [word for word in info.get("SecurityOptions") or [] if isinstance(word, str)]
    errors = (
        [str(line)[:200] for line in info.get("ServerErrors") or []]
        if isinstance(info.get("ServerErrors"), list)
        else []
    )
    data, system = str(info.get("DockerRootDir") or ""), str(info.get("OperatingSystem") or "")
    podman = any("podman" in name.lower() for name in names_)
    if podman:
        origin = "podman"
    elif data.startswith("/var/snap/docker"):
        origin = "snap"
    elif "Docker Desktop" in system:
        origin = "desktop"
    elif any(word.startswith("name=rootless") for word in options):
        origin = "rootless"
    else:
        origin = "package" if data else "unknown"
    return {
        "origin": origin,
        "engine": "podman" if podman else "docker",
        "version": str(version.get("Version") or "")[:40] or None,
        "security_options": [word.split(",")[0] for word in options][:20],
        "system": system[:80] or None,
        "errors": errors,
    }


def _origin_without_answer(root: str, path: str) -> str:
    """Whose daemon it is when it does not talk to us, from its process: pid files and labels are open to all."""
    if os.path.realpath(path) not in (os.path.realpath(DEFAULT), DEFAULT):
        return "unknown"
    if value(text(root, snap.PID_FILE)):
        return "snap"
    process = value(text(root, "/run/docker.pid")) or ""
    if process.isdigit():
        try:
            os.stat(below(root, f"/proc/{process}"))
        except OSError:
            return "unknown"
        return "package"
    return "unknown"
