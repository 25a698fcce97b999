"""Docker from snap, by every sign that needs neither root nor a running daemon."""
from __future__ import annotations

import re
from typing import Any

from .engine import ask
from .programs import SNAP_MOUNTS
from .read import Fact, exists, known, names, text, unknown, value

SNAPD = "/run/snapd.socket"
UNIT = "/etc/systemd/system/snap.docker.dockerd.service"
PID_FILE = "/run/snap.docker/docker.pid"


def facts(root: str = "/") -> dict[str, Fact]:
    """{"snapd": {"status", "version", "revision", "confinement", "devmode"}, "mount": {"folder", "version",
    "confinement"}, "files": [path], "unit": bool, "profile": bool, "data": bool, "instances": [name],
    "daemon": {"label", "confined"}}."""
    return {
        "snapd": _snapd(root),
        "mount": _mount(root),
        "files": known(
            [
                f"/var/lib/snapd/snaps/{name}"
                for name in names(root, "/var/lib/snapd/snaps")
                if re.fullmatch(r"docker(_\w+)?_x?\d+\.snap", name)
            ],
            "/var/lib/snapd/snaps",
        ),
        "unit": exists(root, UNIT),
        "profile": known(
            any(name.startswith("snap.docker.") for name in names(root, "/var/lib/snapd/apparmor/profiles")),
            "/var/lib/snapd/apparmor/profiles",
        ),
        "data": exists(root, "/var/snap/docker"),
        "instances": known(
            sorted(
                {
                    name
                    for mount in SNAP_MOUNTS
                    for name in names(root, mount)
                    if re.fullmatch(r"docker_[a-z0-9]{1,10}", name)
                }
            ),
            "names in snap's mounts",
        ),
        "daemon": _daemon(root),
    }


def _snapd(root: str) -> Fact:
    how = f"GET /v2/snaps/docker on {SNAPD}"
    if root != "/":
        return unknown(how, "only files were looked at")
    answer, problem = ask(SNAPD, "/v2/snaps/docker")
    if problem == "HTTP 404":
        return known(None, how)
    if problem in ("ENOENT", "ENOTDIR"):
        return {"state": "absent", "value": None, "how": how, "why": None}
    result = answer.get("result") if isinstance(answer, dict) else None
    if not isinstance(result, dict):
        return unknown(how, problem or "an answer of another kind")
    return known({name: result.get(name) for name in ("status", "version", "revision", "confinement", "devmode")}, how)


def _mount(root: str) -> Fact:
    for mount in SNAP_MOUNTS:
        folder = f"{mount}/docker/current"
        content = value(text(root, f"{folder}/meta/snap.yaml"))
        if content is not None:
            found = dict(
                re.findall(r"^(version|confinement):[ \t]*['\"]?([\w.+~-]{1,60})['\"]?[ \t]*$", content, re.MULTILINE)
            )
            return known(
                {"folder": folder, "version": found.get("version"), "confinement": found.get("confinement")}, folder
            )
    return {"state": "absent", "value": None, "how": " and ".join(SNAP_MOUNTS), "why": None}


def _daemon(root: str) -> Fact:
    process = value(text(root, PID_FILE))
    if process is None:
        return {"state": "absent", "value": None, "how": PID_FILE, "why": None}
    if not process.isdigit():
        return unknown(PID_FILE, "not a number")
    label = text(root, f"/proc/{process}/attr/current")
    if label["state"] != "known":
        return unknown(label["how"], label["why"] or "the process is gone")
    return known(daemon(label["value"]), label["how"])


def daemon(label: str) -> dict[str, Any]:
    """A label of AppArmor, and whether it confines."""
    return {"label": label[:200], "confined": label.startswith("snap.") and "(complain)" not in label}
