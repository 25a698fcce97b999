"""What a caller does with clients' configs: list the servers, confine them, give them back, start them as clients do.

All of it runs as the user whose files these are (`probe.users.run_as`) and answers with JSON-able data in which no
value of a config file appears; only `launches` returns values, for use in memory.
"""
from __future__ import annotations

import contextlib
import os
from typing import Any, NamedTuple

from . import edit, mask
from .catalogue import BY_NAME
from .decide import needs_isolation_off
from .discover import ConfigFile, config_files
from .document import DocumentError, Splice, spliced
from .entries import Entry
from .launch import launch
from .replace import Changed, client_lock, contents, replace, sweep, target
from .scene import Judge, Scene, Sight, fingerprint, listed, refusal_key, refused, rows, said, scene, sight
from .undo import digest, key

ATTEMPTS = 200  # how often a file may change under us before we give up on it


class Plan(NamedTuple):
    """One file's edit. `wanted` is what the changed entries say then, `records` what undo remembers, by entry."""

    data: bytes
    splices: list[Splice]
    wanted: dict[str, Any]
    records: dict[str, dict[str, Any]]
    problems: list[str]
    notices: list[str]


def servers(
    home: str, projects: list[str], wrapper: str = "", judge_docker: Judge | None = None
) -> list[dict[str, Any]]:
    """Every server in this user's client files and in those of the projects, with its state.

    Each: client, file, scope, server, project, transport ("stdio", "remote" or "unknown"), state ("confined",
    "unconfined", "remote", "never_wrapped", "refused" or "unreadable"), reason, command (base name), args_masked.
    A file that cannot be read is one row without a server. `wrapper` is a path that counts as the wrapper's beside the
    usual ones and those that were written for this user. `judge_docker` gets the real argv and the home of servers that
    docker starts, in memory, and its answer is the row's `docker_arguments`.
    """
    around = scene(home, [os.path.abspath(project) for project in projects], wrapper=wrapper)
    files = config_files(home, around.projects, os.environ)
    return [row for file in files for row in listed(file, around, judge_docker)]


def set_state(home: str, wish: dict[str, Any]) -> dict[str, Any]:
    """Confines servers or gives them back; with `dry_run` says what that would do.

    `wish`: state ("confined" or "unconfined"), wrapper (absolute path), clients, servers (names or "client:name"),
    projects, include_tracked, dry_run, refused ([{"client", "file", "server", "reason"}]: servers that failed their
    proof; a later "confined" leaves them alone until their entry, the wrapper or their policy changes; with state
    "unconfined" and no `servers` only these are given back).

    Returns changed, files ({path, client, changed, before, after}, masked), servers (as `servers`, afterwards, with
    changed), problems ({path, reason}) and notices. Raises `ValueError` for a wish that makes no sense and `OSError`
    when the state folder cannot be written.
    """
    state, wrapper = wish.get("state"), wish.get("wrapper") or ""
    if state not in ("confined", "unconfined"):
        raise ValueError("state must be confined or unconfined")
    if state == "confined" and not os.path.isabs(wrapper):
        raise ValueError("wrapper must be the absolute path of the installed mcp-confine")
    unknown = [name for name in wish.get("clients") or [] if name not in BY_NAME]
    if unknown:
        raise ValueError(f"no client named {', '.join(map(mask.line, unknown))}; docs/clients.md lists them")
    dry = bool(wish.get("dry_run"))
    projects = [os.path.abspath(project) for project in wish.get("projects") or []]
    asked = frozenset(wish.get("servers") or [])
    around = scene(home, projects, bool(wish.get("include_tracked")), asked, wrapper=wrapper)
    answer: dict[str, Any] = {"changed": False, "files": [], "servers": [], "problems": [], "notices": []}
    files = config_files(home, projects, os.environ, wish.get("clients"))
    with contextlib.nullcontext() if dry or not files else around.memory.alone():
        if state == "confined" and files and not dry:
            around.memory.remember_wrapper(wrapper)
        for file in files:
            _set_file(file, around, wish, answer)
    answer["changed"] = any(file["changed"] for file in answer["files"])
    there = {name for row in answer["servers"] for name in (row["server"], f"{row['client']}:{row['server']}")}
    missing = sorted(mask.line(name) for name in asked - there)
    answer["notices"] += [f"no server named {name} in these files" for name in missing]
    answer["notices"] = list(dict.fromkeys(answer["notices"]))
    return answer


def launches(home: str, projects: list[str], wrapper: str = "") -> list[dict[str, Any]]:
    """The confined servers as their clients would start them.

    Each: client, file, server, argv, env (the entry's own), cwd (None: the client's), problem. When the client alone
    can fill in a variable, `problem` names it and argv is empty. Holds secrets: for memory only.
    """
    around = scene(home, [os.path.abspath(project) for project in projects], wrapper=wrapper)
    result = []
    for file in config_files(home, around.projects, os.environ):
        if file.place.format == "opaque":
            continue
        try:
            seen = sight(file, around, contents(file.path))
        except (OSError, DocumentError):
            continue  # `servers` says why
        result += [launch(file, entry, home) for entry, decision, _ in seen.servers if decision.state == "confined"]
    return result


def _set_file(file: ConfigFile, around: Scene, wish: dict[str, Any], answer: dict[str, Any]) -> None:
    """Brings one file into the wished state and adds what happened to `answer`."""
    if file.place.format == "opaque":
        answer["servers"] += [dict(row, changed=False) for row in listed(file, around)]
        return
    dry = bool(wish.get("dry_run"))
    real, lock = os.path.realpath(file.path), ""
    if not dry and not file.place.fixed:
        sweep(real)
    for _ in range(ATTEMPTS):
        try:
            with client_lock(real, lock):
                before = sight(file, around, contents(real))
                plan = _plan(file, around, wish, before)
                after = before
                if plan.wanted:
                    target(file.path, _roots(file, around))
                    after = sight(file, around, plan.data, before, plan.splices)
                    _prove(before, after, plan.wanted)
                if plan.wanted and not dry:
                    if lock != file.client.lock:  # something to write: look again with the client locked out
                        lock = file.client.lock
                        continue
                    _write(file, around, real, before, plan)
            if not dry:
                _note_refusals(file, around, wish, after)
            _tell(file, around, wish, before, after, plan, answer)
            return
        except Changed:
            continue
        except (OSError, DocumentError) as problem:
            reason = said(problem)
            break
    else:
        reason = "it changes all the time; close its client and run this again"
    answer["problems"].append({"path": file.shown, "reason": reason})
    answer["servers"] += [dict(row, changed=False) for row in listed(file, around)]


def _roots(file: ConfigFile, around: Scene) -> list[str]:
    """The folders in which a file may lie that is to be edited."""
    own = [os.path.dirname(file.path)] if file.place.scope == "system" else []
    return [around.home, *around.projects, *own]


def _plan(file: ConfigFile, around: Scene, wish: dict[str, Any], seen: Sight) -> Plan:
    """The new bytes of a file and what to remember of it."""
    editor = edit.editor(file.place.format)
    changes: dict[str, edit.Change] = {}
    problems: list[str] = []
    notices: list[str] = []
    keys = [key(entry.path, entry.holds) for entry, _, _ in seen.servers]
    records = around.memory.edits(os.path.realpath(file.path))
    wrapped_now = {name for name, (_, decision, _) in zip(keys, seen.servers) if decision.wrapping is not None}
    kept = {name: record for name, record in records.items() if name in wrapped_now}
    for name, (entry, decision, surroundings) in zip(keys, seen.servers):
        if keys.count(name) > 1 or not _meant(file, entry, wish):
            continue
        wrapped = decision.wrapping
        try:
            if wish["state"] == "unconfined":
                if wrapped is None:
                    continue
                change = edit.release(editor, seen.data, entry, wrapped, kept.get(name))
                kept.pop(name, None)
                if not change.exact:
                    notices.append(
                        f"{file.shown}: {mask.line(entry.server)}: nothing is remembered of its wrapping; it is given"
                        " back with the same meaning, but an empty args list or quotes may be new"
                    )
            else:
                moved = decision.state == "confined" and wrapped is not None and wrapped.path != wish["wrapper"]
                if not moved and (decision.state != "unconfined" or refused(file, around, seen.data, entry)):
                    continue
                off = needs_isolation_off(entry, surroundings)
                change = edit.confine(editor, seen.data, entry, decision, wish["wrapper"], isolation_off=off)
                if change.record is not None:
                    kept[name] = change.record
        except DocumentError as problem:
            problems.append(f"{mask.line(entry.server)}: {problem}")
            continue
        changes[name] = change
    splices = [splice for change in changes.values() for splice in change.splices]
    wanted = {name: change.wanted for name, change in changes.items()}
    return Plan(spliced(seen.data, splices), splices, wanted, kept, problems, notices)


def _prove(before: Sight, after: Sight, wanted: dict[str, Any]) -> None:
    """Compares before and after: the changed entries say what they should, all others what they said."""
    if after.meanings() != {**before.meanings(), **wanted} or len(after.found) != len(before.found):
        raise DocumentError("the edit would change more than it should; nothing was written, please report the layout")


def _write(file: ConfigFile, around: Scene, real: str, seen: Sight, plan: Plan) -> None:
    """Remembers first, so that a kill leaves nothing that cannot be undone; forgets last."""
    memory, now, after = around.memory, digest(seen.data), digest(plan.data)
    old, original, expected = memory.edits(real), *memory.hashes(real)
    if not old:
        original = now
    elif expected not in (now, after):
        original = ""  # somebody else has edited the file since, so nobody wants the bytes of the beginning back
    if not plan.records.items() <= old.items():
        memory.remember(real, {**old, **plan.records}, original, after)
    replace(real, seen.data, plan.data)
    memory.remember(real, plan.records, original, after)
    if old and not plan.records and original not in ("", after):
        plan.notices.append(f"{file.shown}: given back with the same meaning, but not with the same bytes")


def _tell(
    file: ConfigFile, around: Scene, wish: dict[str, Any], before: Sight, after: Sight, plan: Plan,
    answer: dict[str, Any],
) -> None:
    changed, client = plan.data != before.data, file.client
    texts = [
        "".join(
            mask.block(entry, decision.wrapping, wish.get("wrapper") or "")
            for entry, decision, _ in seen.servers if key(entry.path, entry.holds) in plan.wanted
        )
        for seen in (before, after)
    ]
    answer["files"].append(
        {"path": file.shown, "client": client.name, "changed": changed, "before": texts[0], "after": texts[1]}
    )
    keys = [key(entry.path, entry.holds) for entry, _, _ in after.servers]
    told = zip(keys, rows(file, around, after))
    answer["servers"] += [dict(row, changed=name in plan.wanted) for name, row in told]
    answer["problems"] += [{"path": file.shown, "reason": reason} for reason in plan.problems]
    answer["notices"] += plan.notices
    if changed and client.asks_again:
        answer["notices"].append(f"{client.title} asks again for approval of the servers that changed")
    if changed and client.rewrites.startswith("constantly"):
        answer["notices"].append(f"{client.title} rewrites {file.shown} while it runs; restart it, then look again")
    if changed and client.lists == "windsurf":
        answer["notices"].append("a Windsurf team whitelist matches by command and cannot be seen from here; adapt it")


def _meant(file: ConfigFile, entry: Entry, wish: dict[str, Any]) -> bool:
    """Whether the wish is about this server: by its names, or by the list of those that failed their proof."""
    named, failed = wish.get("servers"), wish.get("refused")
    if named is None and failed and wish["state"] == "unconfined":
        return any(_is_that(file, entry, row) for row in failed)
    return named is None or entry.server in named or f"{file.client.name}:{entry.server}" in named


def _is_that(file: ConfigFile, entry: Entry, row: dict[str, Any]) -> bool:
    return (row.get("client"), row.get("file"), row.get("server")) == (file.client.name, file.shown, entry.server)


def _note_refusals(file: ConfigFile, around: Scene, wish: dict[str, Any], after: Sight) -> None:
    """Remembers the servers that failed their proof, each as it is now."""
    failed = [row for row in wish.get("refused") or [] if row.get("file") == file.shown]
    if not failed:
        return
    refusals = around.memory.refusals()
    for entry, _, _ in after.servers:
        for row in failed:
            if _is_that(file, entry, row):
                mark = fingerprint(around, after.data, entry)
                refusals[refusal_key(file, entry)] = {"fingerprint": mark, "reason": str(row.get("reason", ""))}
    around.memory.remember_refusals(refusals)
