"""Handshake and denials of every confined server of each user, seen now or remembered from a run before."""
from __future__ import annotations

import time

from ..check import denial
from ..clients import act
from ..install import default_wrapper
from . import proofs
from .users import Answer, Users, each, own_folders, together

SECONDS = 3600  # for all servers of a user; each has its own limit
LIST_SECONDS = 120
NOT_TRIED = {"completed": False, "seconds": 0.0, "tools": None, "detail": "not tried"}


def prove(users: Users, wish: Answer) -> Answer:
    """`check.denial.check` as each user: {"checks", "problems", "not_passed"}, every entry with its `user`.

    `wish`: wrapper, servers, projects, timeout (seconds, of one server), max_age and expected. A server that was proved
    less than `max_age` seconds ago, with nothing changed since that its outcome depends on, is not started; its row is
    that of then. Rows tell when they were proved (`proved_at`, UTC) and whether that is `remembered`.

    `not_passed` is in the form that `configure` takes as `refused`; `failures` says the same and the problems in a
    sentence each, and which of the `expected` entries are not confined any more; `notices` what a person should know.
    """
    known = proofs.recall(wish["wrapper"] or default_wrapper(), wish["max_age"])
    total = together(each(users, _check, lambda user: (user.home, *_what(wish), wish["timeout"], _of(user.name, known)),
                          SECONDS), "checks")
    passed = [{**entry, "proved_at": time.time()} for entry in total["checks"] if entry.get("passed")]
    failed = [entry for entry in total["checks"] if entry.get("passed") is False]
    unkept = proofs.remember(wish["wrapper"] or default_wrapper(), passed, failed)
    total["notices"] = [unkept] if unkept else []
    total["checks"] = [_shown(entry, False) for entry in [*passed, *failed]] + [
        _shown({**known[entry["fingerprint"]], **entry}, True) for entry in total["checks"] if "passed" not in entry]
    total["not_passed"] = [{"user": entry["user"], "client": entry["client"], "file": entry["file"],
                            "server": entry["server"], "reason": entry["reason"] or "no reason given"}
                           for entry in failed]
    total["failures"] = [f"{entry['user']}: {entry['client']}:{entry['server']}: {entry['reason']}"
                         for entry in total["not_passed"]] + _said(total["problems"])
    checked = [proofs.who(entry) for entry in total["checks"]]
    total["failures"] += [
        f"{entry['user']}: {entry['client']}:{entry['server']}: was confined and is not any more, "
        "so its client wrote over it; close the client and run this again" for entry in wish["expected"]
        if _meant(entry, wish["servers"]) and proofs.who(entry) not in checked]
    return total


def remembered(users: Users, wish: Answer) -> Answer:
    """The same without a start: {"checks", "problems", "not_passed": [], "failures"}; a row whose proof is not
    remembered, so that `prove` would start its server, has no more than who it is and `remembered`, false."""
    known = proofs.recall(wish["wrapper"] or default_wrapper(), wish["max_age"])
    total = together(each(users, _marks, lambda user: (user.home, *_what(wish)), LIST_SECONDS), "checks")
    total["checks"] = [
        _shown({**known[entry["fingerprint"]], **entry}, True)
        if entry["fingerprint"] in known and proofs.who(known[entry["fingerprint"]]) == proofs.who(entry)
        else {**{key: entry[key] for key in ("user", "client", "file", "server")}, "remembered": False}
        for entry in total["checks"]]
    return {**total, "not_passed": [], "failures": _said(total["problems"]), "notices": []}


def _what(wish: Answer) -> tuple:
    return wish["wrapper"] or default_wrapper(), wish["servers"], wish["projects"]


def _of(name: str, known: dict[str, Answer]) -> list[str]:
    return [mark for mark, row in known.items() if row["user"] == name]


def _shown(entry: Answer, remembered: bool) -> Answer:
    """A row for people: without the fingerprint, into which values went, and with the time as they write it."""
    row = {key: value for key, value in entry.items() if key != "fingerprint"}
    if "proved_at" in row:
        row["proved_at"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row["proved_at"]))
    return {**row, "remembered": remembered}


def _said(problems: list[Answer]) -> list[str]:
    return [f"{entry['user']}: {entry['reason']}" for entry in problems]


def _check(home: str, wrapper: str, servers: list[str] | None, projects: list[str], seconds: float,
           known: list[str]) -> list[Answer]:
    folders = own_folders(home, projects)
    wanted = _confined(home, wrapper, servers, folders)
    names = sorted({entry["server"] for entry in wanted})
    checks = [entry for entry in denial.check(home, wrapper, names, folders, seconds, known)
              if _meant(entry, servers)]
    return checks + [{**entry, "passed": False, "reason": "nobody could tell how its client starts it", "denials": [],
                      "handshake": NOT_TRIED} for entry in _left(wanted, checks)]


def _marks(home: str, wrapper: str, servers: list[str] | None, projects: list[str]) -> list[Answer]:
    folders = own_folders(home, projects)
    wanted = _confined(home, wrapper, servers, folders)
    marks = [entry for entry in denial.fingerprints(home, wrapper, None, folders) if _meant(entry, servers)]
    return marks + [{**entry, "fingerprint": None} for entry in _left(wanted, marks)]


def _confined(home: str, wrapper: str, servers: list[str] | None, folders: list[str]) -> list[Answer]:
    return [{key: entry[key] for key in ("client", "file", "server")} for entry in act.servers(home, folders, wrapper)
            if entry["state"] == "confined" and _meant(entry, servers)]


def _left(wanted: list[Answer], found: list[Answer]) -> list[Answer]:
    """What is called confined and was not found to start: it is not proved, whatever the reason."""
    names = [(entry["client"], entry["file"], entry["server"]) for entry in found]
    return [entry for entry in wanted if (entry["client"], entry["file"], entry["server"]) not in names]


def _meant(entry: Answer, servers: list[str] | None) -> bool:
    return servers is None or entry["server"] in servers or f"{entry['client']}:{entry['server']}" in servers
