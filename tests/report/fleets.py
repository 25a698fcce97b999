"""Fleets as the modules would report them: hosts in every state, of several distributions, as many as wanted."""
from __future__ import annotations

import functools
from typing import Any

from probe import verdict
from probe.report import fleet, record
from tests.verdict.hosts import SNAP_DOCKER, UBUNTU, host, known, server, unknown

NOW, EARLIER = "2026-01-31T09:30:00Z", "2026-01-30T09:30:00Z"
SEEN = {"node": "node", "time": NOW}
FILE = "/home/ada/.cursor/mcp.json"
NO_LANDLOCK = ({"landlock.abi": unknown("EOPNOTSUPP"), "landlock.restrict": unknown("EOPNOTSUPP"),
                "landlock.self_tests": [], "lsm.active": known(["capability", "yama", "apparmor"])},)
DISTRIBUTIONS = ({"id": "debian", "version": "13", "name": "Debian GNU/Linux"},
                 {"id": "ubuntu", "version": "24.04", "name": "Ubuntu"},
                 {"id": "rhel", "version": "9.4", "name": "RHEL"})


def observed(*overlays: dict, servers: tuple = (), number: int = 0, user: str = "ada", **more: Any) -> dict:
    """What `landlock_probe` returns."""
    judged = verdict.judge(host(*overlays), list(servers))
    return {"verdict": judged["verdict"], "users": [{"user": user, "verdict": judged}], "seen": SEEN,
            "distribution": DISTRIBUTIONS[number % 3], **more}


def row(name: str = "notes", state: str = "confined", reason: str = "", user: str = "ada", **more: Any) -> dict:
    """One of `mcp_launch_config`'s servers."""
    return {"user": user, "client": "cursor", "file": FILE, "server": name, "state": state, "reason": reason,
            "changed": False, **more}


def check(name: str = "notes", passed: bool = True, reason: str | None = None, **more: Any) -> dict:
    """One of `mcp_denial_check`'s checks."""
    denial = {"act": "read_canary", "without_us": "allowed", "confined": "denied", "by": "enforced"}
    return {"user": "ada", "client": "cursor", "file": FILE, "server": name, "passed": passed, "reason": reason,
            "handshake": {"completed": passed, "seconds": 0.5, "tools": 3, "detail": None}, "denials": [denial], **more}


def configured(*rows: dict, problems: tuple = ()) -> dict:
    return {"servers": list(rows), "problems": list(problems), "seen": SEEN}


@functools.cache
def results(kind: str, number: int = 0) -> dict[str, Any]:
    """What the modules return for a host of this kind."""
    boxed = server("db", "docker", argv=["run", "-v", "/opt/x:/y", "image"])
    return {
        "protected": {"observed": observed(number=number), "installed": {"changed": False},
                      "configured": configured(row(), row("far", "remote", "it runs elsewhere")),
                      "proved": {"checks": [check()]}},
        "partly": {"observed": observed(UBUNTU, SNAP_DOCKER, servers=(boxed,), number=1),
                   "installed": {"changed": True},
                   "configured": configured(row(), row("needy"), row("db", "never_wrapped", "runs it in a container")),
                   "proved": {"checks": [check(), check("needy", False, "it was denied /home/ada/x")]},
                   "set_back": {"changed": True}},
        "unprotected": {"observed": observed(*NO_LANDLOCK, servers=(server(),), number=2, failed=True,
                                             msg="landlock is blocked for ada: LANDLOCK_OFF_AT_BOOT")},
        "unproved": {"observed": observed(servers=(server(state="confined"),), number=number)},
        "no_servers": {"observed": observed(number=number), "configured": configured(), "proved": {"checks": []}},
        "unknown": {"observed": observed(number=number), "proved": {"checks": []}, "configured": configured(
            problems=({"user": "ada", "path": "/home/ada/.claude.json", "reason": "line 3 is not JSON"},))},
        "failed": {"observed": {"failed": True, "msg": "No space left on device"}},
        "unreachable": {"observed": {"unreachable": True, "msg": "Failed to connect to the host via ssh"}},
        "pending": {},
    }[kind]


def one(kind: str, name: str = "ws1", number: int = 0) -> record.Record:
    return record.of_host(name, results(kind, number % 3), NOW, waiting=kind == "pending")


def of(size: int) -> dict[str, Any]:
    """A document of that many hosts: in each twenty twelve are protected, and one of each other kind."""
    kinds = ["protected"] * 12 + [kind for kind in record.STATES if kind != "protected"]
    return fleet.document([one(kinds[number % 20], f"ws{number}", number) for number in range(size)], NOW)
