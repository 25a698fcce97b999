"""Handshake and denials of every confined server of each user."""
from __future__ import annotations

from ..check import denial
from ..clients import act
from ..install import default_wrapper
from .users import Answer, Users, each, own_folders, together

SECONDS = 3600  # for all servers of a user; each has its own limit
LIST_SECONDS = 120


def prove(users: Users, wrapper: str | None, servers: list[str] | None, projects: list[str], seconds: float,
          expected: list[Answer]) -> Answer:
    """`check.denial.check` as each user: {"checks", "problems", "not_passed"}, every entry with its `user`.

    `seconds` is the limit of one server. `not_passed` is in the form that `configure` takes as `refused`; `failures`
    says the same and the problems in a sentence each, and which of the `expected` entries are not confined any more.
    """
    path = wrapper or default_wrapper()
    answers = each(users, _check, lambda user: (user.home, path, servers, projects, seconds), SECONDS)
    total = together(answers, "checks")
    total["not_passed"] = [{"user": entry["user"], "client": entry["client"], "file": entry["file"],
                        "server": entry["server"], "reason": entry["reason"] or "no reason given"}
                       for entry in total["checks"] if not entry["passed"]]
    total["failures"] = [f"{entry['user']}: {entry['client']}:{entry['server']}: {entry['reason']}"
                         for entry in total["not_passed"]] + _said(total["problems"])
    checked = [_key(entry) for entry in total["checks"]]
    total["failures"] += [
        f"{entry['user']}: {entry['client']}:{entry['server']}: was confined and is not any more, "
        "so its client wrote over it; close the client and run this again" for entry in expected
        if _meant(entry, servers) and _key(entry) not in checked]
    return total


def confined(users: Users, servers: list[str] | None, projects: list[str]) -> Answer:
    """What `prove` would start: {"checks", "problems", "not_passed": [], "failures"}, for check mode."""
    total: Answer = {"not_passed": []}
    total.update(together(each(users, _confined, lambda user: (user.home, servers, projects), LIST_SECONDS), "checks"))
    total["failures"] = _said(total["problems"])
    return total


def _said(problems: list[Answer]) -> list[str]:
    return [f"{entry['user']}: {entry['reason']}" for entry in problems]


def _check(home: str, wrapper: str, servers: list[str] | None, projects: list[str], seconds: float) -> list[Answer]:
    folders = own_folders(home, projects)
    wanted = [entry for entry in act.servers(home, folders) if entry["state"] == "confined" and _meant(entry, servers)]
    names = sorted({entry["server"] for entry in wanted})
    checks = [entry for entry in denial.check(home, wrapper, names, folders, seconds) if _meant(entry, servers)]
    checked = [_key(entry) for entry in checks]
    # What is called confined and was not checked is not proved, whatever the reason.
    return checks + [
        {**_named(entry), "passed": False, "reason": "nobody could tell how its client starts it", "denials": [],
         "handshake": {"completed": False, "seconds": 0.0, "tools": None, "detail": "not tried"}}
        for entry in wanted if _key(entry) not in checked]


def _meant(entry: Answer, servers: list[str] | None) -> bool:
    return servers is None or entry["server"] in servers or f"{entry['client']}:{entry['server']}" in servers


def _key(entry: Answer) -> tuple:
    return entry.get("user"), entry["client"], entry["file"], entry["server"]


def _named(entry: Answer) -> Answer:
    return {key: entry[key] for key in ("client", "file", "server")}


def _confined(home: str, servers: list[str] | None, projects: list[str]) -> list[Answer]:
    return [_named(entry) for entry in act.servers(home, own_folders(home, projects))
            if entry["state"] == "confined" and _meant(entry, servers)]
