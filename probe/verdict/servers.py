"""What the host's verdict means for each configured server."""
from __future__ import annotations

from typing import Any

from .docker_arguments import judge_arguments

ENGINES = ("docker", "podman")


def hits(servers: list[dict[str, Any]], home: str) -> list[dict[str, Any]]:
    """The servers that start a docker container, with what snap's Docker would do to their arguments.

    A row may bring `docker_arguments`, judged where the real arguments are known (`docker_arguments.judge_arguments`).
    Without it only what the mask left of the arguments can be judged.
    """
    found = []
    for row in servers:
        judged = row.get("docker_arguments")
        if judged is None and row.get("command") != "docker":
            continue
        if judged is None:
            judged = judge_arguments(["docker", *(row.get("args_masked") or [])], home)
        found.append({"server": f"{row.get('client')}:{row.get('server')}", "arguments": judged})
    return found


def judge(servers: list[dict[str, Any]], mechanisms: dict[str, Any]) -> list[dict[str, Any]]:
    """[{"client", "server", "file", "isolation", "state", "reason"}].

    `isolation` is "landlock", "docker", "podman", "none", "not_applicable" for a server that does not run here, or
    "unknown" for what could not be read; `state` is that mechanism's on this host, None for the last three.
    """
    rows = []
    for row in servers:
        isolation = _isolation(row)
        state = mechanisms[isolation]["state"] if isolation in mechanisms else None
        rows.append({"client": row.get("client"), "server": row.get("server"), "file": row.get("file"),
                     "isolation": isolation, "state": state, "reason": row.get("reason") or None})
    return rows


def _isolation(row: dict[str, Any]) -> str:
    if row.get("transport") == "remote" or row.get("state") == "remote":
        return "not_applicable"
    if row.get("state") == "unreadable":
        return "unknown"
    if row.get("state") == "confined":
        return "landlock"
    if row.get("docker_arguments") is not None:
        return "docker"
    return str(row["command"]) if row.get("command") in ENGINES else "none"
