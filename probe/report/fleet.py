"""A fleet as one document: its hosts, how many are protected, by what, and why the others are not. Pure."""
from __future__ import annotations

import re
from collections import Counter
from typing import Any

from ..verdict import ORDER
from ..verdict.catalogue import CODES
from .record import CONTAINERS, SERVER_STATES, STATES, Record, carried, is_open, isolated

SCHEMA = 1
SAFE = ("protected", "no_servers")


def document(records: list[Record], now: str) -> dict[str, Any]:
    """{"schema", "generated", "summary", "hosts"} as `docs/fleet.schema.json` says; hosts by name."""
    hosts = sorted(records, key=lambda record: natural(record["name"]))
    return {"schema": SCHEMA, "generated": now, "summary": summary(hosts), "hosts": hosts}


def merged(records: list[Record]) -> list[Record]:
    """One record for each host, the newest, with what the older ones knew and it did not look for."""
    newest: dict[str, Record] = {}
    for record in sorted(records, key=lambda row: row["seen"]):
        earlier = newest.get(record["name"])
        newest[record["name"]] = carried(record, earlier) if earlier else record
    return list(newest.values())


def continued(records: list[Record], earlier: list[Record], inventory: list[str]) -> list[Record]:
    """The records of a run, and earlier ones of hosts of the inventory that it left out or did not yet reach."""
    before = {row["name"]: row for row in earlier}
    now = {}
    for record in records:
        known = before.get(record["name"])
        now[record["name"]] = record if known is None else known if record["waiting"] else carried(record, known)
    kept = {name: before[name] for name in inventory if name in before and name not in now}
    return [*now.values(), *kept.values()]


def summary(hosts: list[Record]) -> dict[str, Any]:
    """The fleet in one look."""
    servers = [row for record in hosts for row in record["servers"] if row["server"] is not None]
    states = Counter(row["state"] for row in servers)
    behind = [{row["isolation"] for row in record["servers"] if isolated(row)} for record in hosts]
    return {
        "hosts": {"total": len(hosts), **_counted(STATES, (record["state"] for record in hosts))},
        "servers": {"total": len(servers), **{state: states[state] for state in SERVER_STATES},
                    "proved": sum(row["proved"] is not None for row in servers),
                    "in_containers": sum(row["isolation"] in CONTAINERS for row in servers),
                    "open": sum(is_open(row) for row in servers)},
        "by": {name: sum(name in found for found in behind) for name in ("landlock", *CONTAINERS)},
        "mechanisms": {name: dict(Counter(record["mechanisms"][name] for record in hosts if record["mechanisms"]))
                       for name in ORDER},
        "reasons": reasons(hosts),
        "codes": _codes(hosts),
    }


def reasons(hosts: list[Record]) -> list[dict[str, Any]]:
    """Why hosts are not protected, most hosts first: [{"kind", "code", "text", "hosts", "servers"}].

    `kind` is "code" for a finding that blocks Landlock, "server" for what servers have in common (`servers` counts
    them), "problem" for what nobody could look into, and "host" for a host that stopped or did not answer.
    """
    count: dict[tuple, dict[str, Any]] = {}

    def add(kind: str, code: str | None, text: str, host: str, servers: int = 0) -> None:
        row = count.setdefault((kind, code or text), {"kind": kind, "code": code, "text": text, "names": set(),
                                                      "servers": 0})
        row["names"].add(host)
        row["servers"] += servers

    for record in hosts:
        name = record["name"]
        if record["state"] in SAFE:
            continue
        if record["state"] in ("unreachable", "pending"):
            add("host", None, {"unreachable": "could not be reached", "pending": "its turn has not come"}
                [record["state"]], name)
            continue
        blocking = [row["code"] for row in record["findings"]
                    if row["mechanism"] == "landlock" and row["severity"] == "error"]
        for code in blocking:
            add("code", code, CODES[code].title if code in CODES else code, name)
        if record["message"] and not blocking:
            add("host", None, record["message"], name)
        for row in record["problems"]:
            add("problem", None, row["reason"], name)
        for row in record["servers"]:
            if is_open(row) and not (blocking and row["reason"] is None):
                add("server", None, row["reason"] or "nothing confines it yet", name, 1)
        if record["state"] == "unproved" and not blocking:
            add("host", None, "confined, and not proved yet", name)
    rows = [{"kind": row["kind"], "code": row["code"], "text": row["text"], "hosts": len(row["names"]),
             "servers": row["servers"]} for row in count.values()]
    return sorted(rows, key=lambda row: (-row["hosts"], -row["servers"], row["text"]))


def natural(name: str) -> list[Any]:
    """A key that puts ws2 before ws10."""
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part) for part in re.split(r"(\d+)", name)]


def attention(record: Record) -> tuple:
    """A key that puts what needs a person first."""
    return STATES.index(record["state"]), natural(record["name"])


def _codes(hosts: list[Record]) -> dict[str, Any]:
    counted = Counter(code for record in hosts for code in record["codes"])
    known = {row["code"]: row for record in hosts for row in record["findings"]}
    return {code: {"severity": known[code]["severity"], "title": known[code]["title"], "hosts": number}
            for code, number in sorted(counted.items(), key=lambda row: (-row[1], row[0]))}


def _counted(names: tuple[str, ...], values: Any) -> dict[str, int]:
    found = Counter(values)
    return {name: found[name] for name in names}
