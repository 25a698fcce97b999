"""Results that hosts or earlier runs left in files, read back as records.

Two kinds are known: a report (`fleet.json`, `probe report --json`) and a host's verdict (`probe host --json`).
"""
from __future__ import annotations

import json
import os
from typing import Any

from ..verdict import ORDER, SEVERITIES
from . import fleet
from .record import MECHANISM_STATES, SERVER_STATES, STATES, Record, epoch, iso, judged, of_host

_TEXT, _MAYBE, _NUMBER, _FLAG = (str,), (str, type(None)), (int, type(None)), (bool,)
# What a record's fields are, and those of the rows in it. A file comes from a host, and a host may be anybody's.
_SHAPE: dict[str, Any] = {
    "name": _TEXT, "node": _MAYBE, "seen": _TEXT, "unreachable": _FLAG, "waiting": _FLAG, "message": _MAYBE,
    "distribution": ({"id": _TEXT, "version": _TEXT, "name": _TEXT},), "kernel": _MAYBE, "abi": _NUMBER,
    "verdict": _MAYBE, "mechanisms": (dict.fromkeys(ORDER, _TEXT),),
    "scanner": ({"state": _TEXT, "warning": _MAYBE},), "last_known": ({"state": _TEXT, "seen": _TEXT},),
    "users": [{"user": _TEXT, "verdict": _MAYBE, "error": _MAYBE}],
    "servers": [{"user": _MAYBE, "client": _MAYBE, "server": _MAYBE, "file": _MAYBE, "state": _TEXT,
                 "isolation": _TEXT, "reason": _MAYBE, "proved": _MAYBE, "denials": _NUMBER, "tools": _NUMBER}],
    "findings": [{"code": _TEXT, "severity": _TEXT, "mechanism": _MAYBE, "title": _TEXT, "evidence": dict,
                  "users": [_TEXT], "remedies": [{"text": _TEXT, "scope": _TEXT, "risk": _TEXT, "reboot": _FLAG,
                                                  "undo": _TEXT}]}],
    "problems": [{"user": _MAYBE, "path": _MAYBE, "reason": _TEXT}],
}
_WORDS = {"servers": ("state", SERVER_STATES), "findings": ("severity", SEVERITIES)}


class NotAResult(Exception):
    """A file holds no result that is known; the text says what is wrong with it."""


def read(paths: list[str]) -> list[Record]:
    """The records in these files, and in every `*.json` below those that are folders; newest first to last.

    Raises `NotAResult` for a named file, or a folder without any. A file found below a folder that cannot be read
    stands for a host that failed: its record bears the file's name and says why.
    """
    found: list[Record] = []
    for path in paths:
        if not os.path.isdir(path):
            found += _file(path)
            continue
        inside = sorted(os.path.join(place, name) for place, _, names in os.walk(path) for name in names
                        if name.endswith(".json"))
        if not inside:
            raise NotAResult(f"{path}: no *.json in this folder")
        for file in inside:
            try:
                found += _file(file)
            except NotAResult as problem:
                found.append(of_host(_stem(file), {"observed": {"failed": True, "msg": str(problem)}}, _time(file)))
    return found


def records(document: Any) -> list[Record]:
    """The records of a report. Raises `NotAResult` for anything else."""
    if not isinstance(document, dict) or not isinstance(document.get("hosts"), list):
        raise NotAResult("it is no report of mcp-confine")
    if document.get("schema") != fleet.SCHEMA:
        raise NotAResult(f"it is a report of another version (schema {document.get('schema')!r}, not {fleet.SCHEMA})")
    return [_checked(row) for row in document["hosts"]]


def _checked(row: Any) -> Record:
    """The record, with what follows from it made anew. Raises `NotAResult` when it is none."""
    try:
        epoch(row["seen"])
        sound = _fits(row, _SHAPE) and all(
            entry[field] in words for name, (field, words) in _WORDS.items() for entry in row[name]) and (
            row["last_known"] is None or row["last_known"]["state"] in STATES) and (
            row["mechanisms"] is None or all(state in MECHANISM_STATES for state in row["mechanisms"].values()))
        if sound:
            for proof in (entry["proved"] for entry in row["servers"] if entry["proved"]):
                epoch(proof)
            return judged(row)
    except (KeyError, TypeError, ValueError):
        pass
    raise NotAResult("a host in it is not as docs/fleet.schema.json says")


def _fits(value: Any, shape: Any) -> bool:
    """A tuple of types, or of a shape that may be null; a list of rows of a shape; a dict with at least these keys."""
    if isinstance(shape, type):
        return isinstance(value, shape)
    if isinstance(shape, tuple):
        return value is None or _fits(value, shape[0]) if isinstance(shape[0], dict) else isinstance(value, shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(_fits(entry, shape[0]) for entry in value)
    return isinstance(value, dict) and all(key in value and _fits(value[key], inner) for key, inner in shape.items())


def _file(path: str) -> list[Record]:
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if not text.strip():
            raise NotAResult(f"{path}: is empty; whatever was to write it failed")
        document = json.loads(text)
    except OSError as problem:
        raise NotAResult(f"{path}: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise NotAResult(f"{path}: is not JSON; give it what `probe host --json` or `probe report --json` printed"
                         ) from None
    try:
        if isinstance(document, dict) and {"verdict", "mechanisms", "findings", "servers"} <= set(document):
            return [_checked(_verdict(document, path))]
        return records(document)
    except NotAResult as problem:
        raise NotAResult(f"{path}: {problem}") from None
    except (KeyError, TypeError, AttributeError, ValueError):
        raise NotAResult(f"{path}: is not as docs/fleet.schema.json or docs/probe.schema.json says") from None


def _verdict(document: dict[str, Any], path: str) -> Record:
    """One user's view of a host, which the file's name names."""
    facts = document.get("facts") or {}
    observed = {"users": [{"user": (document["user"] or {}).get("name") or "unknown", "verdict": document}],
                "verdict": document["verdict"], "distribution": facts.get("distribution")}
    return of_host(_stem(path), {"observed": observed}, _time(path))


def _stem(path: str) -> str:
    return os.path.basename(path)[: -len(".json")] if path.endswith(".json") else os.path.basename(path)


def _time(path: str) -> str:
    return iso(os.stat(path).st_mtime)
