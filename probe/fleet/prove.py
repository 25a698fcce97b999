"""Handshake and denials of every confined server of each user."""
from __future__ import annotations

from ..check import denial
from ..clients import act
from ..install import default_wrapper
from .users import Answer, Users, each, own_folders, together

SECONDS = 3600  # for all servers of a user; each has its own limit
LIST_SECONDS = 120


def prove(users: Users, wrapper: str | None, servers: list[str] | None, projects: list[str], seconds: float) -> Answer:
    """`check.denial.check` as each user: {"checks", "problems", "failed"}, every entry with its `user`.

    `seconds` is the limit of one server. `failed` is in the form that `configure` takes as `refused`; `failures` says
    the same and the problems in a sentence each.
    """
    path = wrapper or default_wrapper()
    total = together(each(users, _check, lambda user: (user.home, path, servers, projects, seconds), SECONDS), "checks")
    total["failed"] = [{"user": entry["user"], "client": entry["client"], "file": entry["file"],
                        "server": entry["server"], "reason": entry["reason"] or "no reason given"}
                       for entry in total["checks"] if not entry["passed"]]
    total["failures"] = [f"{entry['user']}: {entry['client']}:{entry['server']}: {entry['reason']}"
                         for entry in total["failed"]] + _said(total["problems"])
    return total


def confined(users: Users, servers: list[str] | None, projects: list[str]) -> Answer:
    """What `prove` would start: {"checks", "problems", "failed": [], "failures"}, for check mode."""
    total: Answer = {"failed": []}
    total.update(together(each(users, _confined, lambda user: (user.home, projects), LIST_SECONDS), "checks"))
    if servers is not None:
        total["checks"] = [entry for entry in total["checks"]
                           if entry["server"] in servers or f"{entry['client']}:{entry['server']}" in servers]
    total["failures"] = _said(total["problems"])
    return total


def _said(problems: list[Answer]) -> list[str]:
    return [f"{entry['user']}: {entry['reason']}" for entry in problems]


def _check(home: str, wrapper: str, servers: list[str] | None, projects: list[str], seconds: float) -> list[Answer]:
    return denial.check(home, wrapper, servers, own_folders(home, projects), seconds)


def _confined(home: str, projects: list[str]) -> list[Answer]:
    return [{"client": entry["client"], "file": entry["file"], "server": entry["server"]}
            for entry in act.servers(home, own_folders(home, projects)) if entry["state"] == "confined"]
