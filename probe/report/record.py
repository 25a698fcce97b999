"""One host of a fleet as data, from what the modules returned for it. Pure; holds names, states, reasons and evidence.

A record is what `docs/fleet.schema.json` calls a host. Times are ISO 8601 in UTC.
"""
from __future__ import annotations

import calendar
import time
from typing import Any

from ..verdict import ORDER, SEVERITIES
from ..verdict.catalogue import CODES

Record = dict[str, Any]
# From what needs a person most to what needs nobody.
STATES = ("failed", "unreachable", "unprotected", "partly", "unproved", "unknown", "pending", "no_servers", "protected")
SERVER_STATES = ("confined", "failed", "rolled_back", "unconfined", "refused", "unreadable", "never_wrapped", "remote")
# From best to worst; a host is as good as the worst of its users.
MECHANISM_STATES = ("usable", "limited", "not_applicable", "unknown", "absent", "blocked")
# The steps of a run, in their order: the names of the results that `of_host` takes.
STEPS = ("observed", "installed", "configured", "proved", "set_back")
CONTAINERS = ("docker", "podman")
LONGEST_MESSAGE = 600
_ISOLATION = {"landlock": "confined", "docker": "never_wrapped", "podman": "never_wrapped", "none": "unconfined",
              "not_applicable": "remote", "unknown": "unreadable"}
OVERWRITTEN = "its entry does not start it through the wrapper"
TIME = "%Y-%m-%dT%H:%M:%SZ"


def iso(seconds: float) -> str:
    return time.strftime(TIME, time.gmtime(seconds))


def epoch(moment: str) -> int:
    """Seconds of the epoch. Raises `ValueError` for what is not a time as `iso` writes it."""
    return calendar.timegm(time.strptime(moment, TIME))


def of_host(name: str, results: dict[str, Any], now: str, waiting: bool = False) -> Record:
    """The record of a host that the inventory calls `name`.

    `results` holds what the modules returned, by step (`STEPS`); a step that did not run is missing, one that failed
    or could not reach the host is as Ansible registers it. `now` stands for the time where the host told none;
    `waiting` says that its turn has not come, which is why nothing is there.
    """
    results = {step: results.get(step) or {} for step in STEPS}
    observed, seen = results["observed"], _last_seen(results)
    users = [answer for answer in observed.get("users") or [] if isinstance(answer, dict)]
    verdicts = [(answer["user"], answer["verdict"]) for answer in users if answer.get("verdict")]
    landlock = [verdict["mechanisms"]["landlock"]["evidence"] for _, verdict in verdicts]
    record = {
        "name": name,
        "node": seen.get("node"),
        "seen": seen.get("time") or now,
        "unreachable": any(row.get("unreachable") for row in results.values()),
        "waiting": waiting and not any(results.values()),
        "message": _message(results),
        "distribution": _distribution(observed.get("distribution") or {}),
        "kernel": next((row["release"] for row in landlock if row.get("release")), None),
        "abi": next((row["abi"] for row in landlock if row.get("abi") is not None), None),
        "verdict": observed.get("verdict") if verdicts else None,
        "mechanisms": _mechanisms(verdicts),
        "scanner": next(({"state": verdict["scanner"]["state"], "warning": verdict["scanner"]["warning"]}
                         for _, verdict in verdicts), None),
        "users": [{"user": answer["user"], "verdict": (answer.get("verdict") or {}).get("verdict"),
                   "error": answer.get("error")} for answer in users],
        "servers": _servers(results, verdicts, seen.get("time") or now),
        "findings": _findings(verdicts),
        "problems": _problems(results),
        "last_known": None,
    }
    return judged(record)


def judged(record: Record) -> Record:
    """The record with what follows from the rest of it: `state`, `why`, `codes` and `proved`, the oldest proof."""
    record["codes"] = sorted({row["code"] for row in record["findings"] if row["severity"] != "info"})
    proofs = [row["proved"] for row in record["servers"] if row["state"] == "confined"]
    # Where Landlock does not work today, the wrapper starts nothing, and an older proof says nothing about it.
    works = record["mechanisms"] is None or record["mechanisms"]["landlock"] in ("usable", "limited")
    record["proved"] = min(proofs) if proofs and all(proofs) and works else None
    record["state"] = _state(record)
    record["why"] = _why(record)
    return record


def carried(record: Record, earlier: Record) -> Record:
    """The record with what an earlier one of the same host knew and this run did not look for.

    The proof of a server that is still confined keeps its time. A host that could not be looked at says what it was
    when it last could.
    """
    proofs = {_key(row): row["proved"] for row in earlier["servers"] if row["state"] == "confined"}
    for row in record["servers"]:
        if row["state"] == "confined" and row["proved"] is None:
            row["proved"] = proofs.get(_key(row))
    if record["unreachable"] or record["waiting"]:
        looked = not (earlier["unreachable"] or earlier["waiting"])
        record["last_known"] = {"state": earlier["state"], "seen": earlier["seen"]} if looked else earlier["last_known"]
    return judged(record)


def isolated(server: Record) -> bool:
    """Whether a server runs behind something: confined, or in a container."""
    return server["state"] == "confined" or server["isolation"] in CONTAINERS


def is_open(server: Record) -> bool:
    """Whether a server runs, or may run, with all rights of its user. What has no name is a file out of reach."""
    named = server["server"] is not None or server["state"] == "unreadable"
    return named and server["state"] != "remote" and not isolated(server)


def _state(record: Record) -> str:
    if record["unreachable"]:
        return "unreachable"
    if record["waiting"]:
        return "pending"
    safe = [row for row in record["servers"] if isolated(row)]
    bare = [row for row in record["servers"] if is_open(row)] + record["problems"]
    if bare and safe:
        return "partly"
    if any(is_open(row) for row in record["servers"]):
        return "unprotected"
    if record["message"] or not (record["users"] or record["servers"] or record["problems"]):
        return "failed"
    if bare or any(row["error"] for row in record["users"]):
        return "unknown"
    if not safe:
        return "no_servers"
    # A container is somebody else's promise: it leaves nothing open, and by itself it proves nothing.
    return "protected" if record["proved"] else "unproved"


def _why(record: Record) -> str:
    """One sentence on the state, the most telling one."""
    blocking = [CODES[row["code"]].title for row in record["findings"]
                if row["mechanism"] == "landlock" and row["severity"] == "error" and row["code"] in CODES]
    bare = [row for row in record["servers"] if is_open(row)]
    reasons = [row["reason"] for row in [*record["problems"], *bare] if row["reason"]]
    state = record["state"]
    if state == "failed" and blocking:
        return blocking[0]
    if state in ("unreachable", "failed"):
        return record["message"] or (
            "It could not be reached" if state == "unreachable" else "It stopped; the output of the run says why")
    if state in ("partly", "unprotected", "unknown"):
        said = (blocking[:1] or reasons[:1] or [row["error"] for row in record["users"] if row["error"]][:1]
                or [record["message"] or "Nothing confines them yet"])[0]
        count = f"{len(bare)} of {sum(row['server'] is not None for row in record['servers'])} servers open: "
        return (count if bare else "") + said
    if state == "unproved" and blocking:
        return blocking[0]
    boxed = sum(row["isolation"] in CONTAINERS for row in record["servers"])
    beside = f"; {boxed} in containers, of which nothing was proved" if boxed else ""
    return {
        "pending": "Its turn has not come",
        "no_servers": "No client on it is configured to start a server here",
        "unproved": f"No server is open, and the denials were not seen for all{beside}",
        "protected": f"Every server that was found is confined, and its denials were seen{beside}",
    }[state]


def _last_seen(results: dict[str, Any]) -> dict[str, Any]:
    for step in reversed(STEPS):
        if isinstance(results[step].get("seen"), dict):
            return results[step]["seen"]
    return {}


def _message(results: dict[str, Any]) -> str | None:
    for step in STEPS:
        if results[step].get("failed") or results[step].get("unreachable"):
            text = str(results[step].get("msg") or "it stopped without a message").strip()
            return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
    return None


def _distribution(said: dict[str, Any]) -> dict[str, Any] | None:
    if not said.get("id"):
        return None
    return {"id": said["id"], "version": said.get("version") or "", "name": said.get("name") or said["id"]}


def _mechanisms(verdicts: list[tuple[str, Any]]) -> dict[str, str] | None:
    if not verdicts:
        return None
    states = {name: [verdict["mechanisms"][name]["state"] for _, verdict in verdicts] for name in ORDER}
    return {name: max(found, key=MECHANISM_STATES.index) for name, found in states.items()}


def _findings(verdicts: list[tuple[str, Any]]) -> list[Record]:
    """The findings of all users, each once with the users it is about."""
    found: dict[str, Record] = {}
    for user, verdict in verdicts:
        for row in verdict["findings"]:
            same = found.setdefault(repr((row["code"], row["mechanism"], row["evidence"], row["remedies"])),
                                    {**row, "users": []})
            if user not in same["users"]:
                same["users"].append(user)
    return sorted(found.values(), key=lambda row: SEVERITIES.index(row["severity"]))


def _servers(results: dict[str, Any], verdicts: list[tuple[str, Any]], now: str) -> list[Record]:
    judged_rows = [{"user": user, **row} for user, verdict in verdicts for row in verdict["servers"]]
    isolation = {_key(row): row["isolation"] for row in judged_rows}
    configured, proved = results["configured"], results["proved"]
    if "servers" not in configured:
        return [_server(row, _ISOLATION[row["isolation"]], row["isolation"], row["reason"]) for row in judged_rows]
    checks = {_key(row): row for row in proved.get("checks") or [] if "passed" in row}
    found = []
    for row in configured["servers"]:
        state, reason, check = row["state"], row["reason"] or None, checks.get(_key(row))
        if state == "confined" and check is not None and not check["passed"]:
            state, reason = "rolled_back" if results["set_back"].get("changed") else "failed", check["reason"]
        elif state == "confined" and check is None and row.get("changed") and (checks or not results["installed"]):
            # Foreseen only, or written over since: what was confined would have been proved.
            state, reason = "unconfined", OVERWRITTEN
        behind = {"confined": "landlock", "remote": "not_applicable", "unreadable": "unknown"}.get(state, "none")
        if state == "never_wrapped" and isolation.get(_key(row)) in (*CONTAINERS, "unknown"):
            behind = isolation[_key(row)]
        entry = _server(row, state, behind, reason)
        if state == "confined" and check is not None:
            entry["proved"] = check.get("proved_at") or now
            entry["denials"] = sum(row["by"].startswith("enforced") and row["confined"] != "allowed"
                                   for row in check.get("denials") or [])
            entry["tools"] = (check.get("handshake") or {}).get("tools")
        found.append(entry)
    return found


def _server(row: Record, state: str, isolation: str, reason: str | None) -> Record:
    return {**{key: row.get(key) for key in ("user", "client", "file", "server")}, "state": state,
            "isolation": isolation, "reason": reason, "proved": None, "denials": None, "tools": None}


def _problems(results: dict[str, Any]) -> list[Record]:
    """Files and users that nobody could look into; what is a server's own row already is left out."""
    told = {(row["user"], row["file"]) for row in results["configured"].get("servers") or []}
    rows = [row for step in ("configured", "proved") for row in results[step].get("problems") or []]
    unique = {(row["user"], row.get("path"), row["reason"]): row for row in rows}
    return [{"user": user, "path": path, "reason": reason} for user, path, reason in unique if (user, path) not in told]


def _key(row: Record) -> tuple:
    return row.get("user"), row.get("client"), row.get("file"), row.get("server")
