"""What a caller does with clients' configs: list the servers, confine them, give them back, start them as the client would.

All of it runs as the user whose files these are (`probe.users.run_as`) and answers with JSON-able data in which no value
of a config file appears; only `launches` returns values, for use in memory.
"""
from __future__ import annotations

import contextlib
import os
from typing import Any, NamedTuple

from .. import __version__
from ..confine.policy import folder_name
from . import edit, lists, look, mask, variables
from .catalogue import BY_NAME
from .decide import Decision, Program, Surroundings, argument_name, decide, needs_isolation_off
from .discover import ConfigFile, config_files
from .document import DocumentError, Found, spliced
from .entries import Entry, entries
from .replace import Changed, Refused, client_lock, contents, replace, sweep, target
from .undo import Memory, digest, key

ATTEMPTS = 200  # how often a file may change under us before we give up on it
POLICY_FOLDERS = ("/etc/mcp-confine/policies", "~/.config/mcp-confine/policies")


class Scene(NamedTuple):
    """The user whose files are looked at, and what was asked for."""

    home: str
    projects: list[str]
    memory: Memory
    known: frozenset[str]
    include_tracked: bool
    asked: frozenset[str] = frozenset()


class Sight(NamedTuple):
    """One file as read: its bytes, its servers and what was decided about each."""

    data: bytes
    found: list[Found]
    servers: list[tuple[Entry, Decision, Surroundings]]


class Plan(NamedTuple):
    """One file's edit. `wanted` is what the changed entries say afterwards, `records` what undo remembers; by key."""

    data: bytes
    wanted: dict[str, Any]
    records: dict[str, dict[str, Any]]
    problems: list[str]
    notices: list[str]


def servers(home: str, projects: list[str]) -> list[dict[str, Any]]:
    """Every server in this user's client files and in those of the projects, with its state.

    Each: client, file, scope, server, project, transport ("stdio", "remote" or "unknown"), state ("confined",
    "unconfined", "remote", "never_wrapped", "refused" or "unreadable"), reason, command (base name), args_masked. A file
    that cannot be read is one row without a server.
    """
    scene = _scene(home, projects)
    rows: list[dict[str, Any]] = []
    for file in config_files(home, projects, os.environ):
        rows += _listed(file, scene)[0]
    return rows


def set_state(home: str, wish: dict[str, Any]) -> dict[str, Any]:
    """Confines servers or gives them back; with `dry_run` says what that would do.

    `wish`: state ("confined" or "unconfined"), wrapper (absolute path), clients, servers (names or "client:name"),
    projects, include_tracked, dry_run, refused ([{"client", "file", "server", "reason"}]: servers that failed their proof;
    given back, and left alone by later wishes until their entry, the wrapper or their policy changes).

    Returns changed, files ({path, client, changed, before, after}, masked), servers (as `servers`, afterwards, with
    changed), problems ({path, reason}) and notices. Raises `ValueError` for a wish that makes no sense.
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
    scene = _scene(home, projects, bool(wish.get("include_tracked")), frozenset(wish.get("servers") or []), wrapper)
    answer: dict[str, Any] = {"changed": False, "files": [], "servers": [], "problems": [], "notices": []}
    with contextlib.nullcontext() if dry else scene.memory.alone():
        if state == "confined" and not dry:
            scene.memory.remember_wrapper(wrapper)
        for file in config_files(home, projects, os.environ, wish.get("clients")):
            _set_file(file, scene, wish, answer, dry)
    answer["changed"] = any(file["changed"] for file in answer["files"])
    answer["notices"] = list(dict.fromkeys(answer["notices"]))
    return answer


def launches(home: str, projects: list[str]) -> list[dict[str, Any]]:
    """The confined servers as their clients would start them.

    Each: client, file, server, argv, env (the entry's own), cwd (None: the client's), problem. When the client alone can
    fill in a variable, `problem` names it and argv is empty. Holds secrets: for memory only.
    """
    scene = _scene(home, projects)
    result = []
    for file in config_files(home, projects, os.environ):
        try:
            sight = _sight(file, scene, contents(file.path))
        except (OSError, DocumentError):
            continue
        for entry, decision, _ in sight.servers:
            if decision.state == "confined":
                result.append(_launch(file, entry, home))
    return result


def _scene(
    home: str, projects: list[str], include_tracked: bool = False, asked: frozenset[str] = frozenset(), wrapper: str = ""
) -> Scene:
    memory = Memory(home)
    known = memory.wrappers() | ({wrapper} if wrapper else set())
    return Scene(home, projects, memory, known, include_tracked, asked)


def _sight(file: ConfigFile, scene: Scene, data: bytes, strict: bool = True) -> Sight:
    """What the bytes of a file say. `strict` False: they were judged before an edit. Raises `DocumentError`."""
    found = edit.editor(file.place.format).read(data, file.place.keys, strict=strict)
    stem = os.path.basename(file.path).rpartition(".")[0]
    listed = entries(found, file.client, stem)
    holder = "" if scene.include_tracked or not listed else look.tracked(os.path.realpath(file.path))
    reason = f"its file is under version control ({holder}); ask for such files to include them" if holder else ""
    isolation = next((node.plain() for path, _, node in found if path == ("docker_isolation",)), None)
    result = []
    for entry in listed:
        argv = entry.argv()
        around = Surroundings(
            scene.known, scene.home, look.program(argv, scene.home) if argv else Program(),
            bool(scene.asked & {entry.server, f"{file.client.name}:{entry.server}"}),
            lists.reason(file.client.lists, scene.home, _project(file, entry), entry.server, argv) if argv else "",
            reason, _isolation(isolation),
        )
        result.append((entry, decide(entry, file.client, file.place, around), around))
    return Sight(data, found, result)


def _isolation(setting: Any) -> str:
    """mcpproxy's isolation of all servers: "docker", or "" for any other. Its `mode` counts before its `enabled`."""
    if not isinstance(setting, dict):
        return ""
    mode = setting.get("mode") or ("docker" if setting.get("enabled") is True else "")
    return "docker" if mode == "docker" else ""


def _listed(file: ConfigFile, scene: Scene) -> tuple[list[dict[str, Any]], str]:
    """The rows of one file as it is now, and why it could not be read, or ""."""
    if file.place.format == "opaque":
        return [_row(file, "never_wrapped", file.place.fixed, "unknown")], ""
    try:
        sight = _sight(file, scene, contents(file.path))
    except (OSError, DocumentError) as problem:
        return [_row(file, "unreadable", _said(problem), "unknown")], _said(problem)
    return _rows(file, scene, sight), ""


def _rows(file: ConfigFile, scene: Scene, sight: Sight) -> list[dict[str, Any]]:
    refusals = scene.memory.refusals()
    rows = []
    for entry, decision, _ in sight.servers:
        state, reason = decision.state, decision.reason
        if state == "unconfined":
            old = refusals.get(_refusal_key(file, entry))
            if old and old["fingerprint"] == _fingerprint(scene, sight.data, entry):
                state, reason = "refused", old["reason"]
        if state == "confined" and decision.wrapping and not os.path.exists(decision.wrapping.path):
            reason = f"{decision.wrapping.path} is not there, so it cannot start; install the wrapper or confine it again"
        transport = "remote" if state == "remote" else "stdio" if entry.command is not None else "unknown"
        row = _row(file, state, reason, transport)
        argv = entry.argv()
        row.update(
            server=entry.server, project=_project(file, entry) or None, command=mask.program(argv[0]) if argv else "",
            args_masked=mask.arguments(entry, decision.wrapping),
        )
        rows.append(row)
    return rows


def _row(file: ConfigFile, state: str, reason: str, transport: str) -> dict[str, Any]:
    return {
        "client": file.client.name, "file": file.path, "scope": file.place.scope, "server": "", "project": file.project or None,
        "transport": transport, "state": state, "reason": reason, "command": "", "args_masked": [],
    }


def _set_file(file: ConfigFile, scene: Scene, wish: dict[str, Any], answer: dict[str, Any], dry: bool) -> None:
    """Brings one file into the wished state and adds what happened to `answer`."""
    if file.place.format == "opaque":
        answer["servers"] += [dict(row, changed=False) for row in _listed(file, scene)[0]]
        return
    real, lock = os.path.realpath(file.path), ""
    if not dry and not file.place.fixed:
        sweep(real)
    for _ in range(ATTEMPTS):
        try:
            with client_lock(real, lock):
                data = contents(real)
                sight = _sight(file, scene, data)
                plan = _plan(file, scene, wish, sight, scene.memory.edits(real))
                after = sight
                if plan.wanted:
                    target(file.path, _roots(file, scene))
                    after = _sight(file, scene, plan.data, strict=False)
                    _prove(sight, after, plan.wanted)
                if plan.wanted and not dry:
                    if lock != file.client.lock:  # there is something to write: look again with the client locked out
                        lock = file.client.lock
                        continue
                    _write(file, scene, real, sight, plan)
            if not dry:
                _note_refusals(file, scene, wish, after)
            _tell(file, wish, (sight, after), plan, _rows(file, scene, after), answer)
            return
        except Changed:
            continue
        except (OSError, DocumentError) as problem:
            said = _said(problem)
            break
    else:
        said = "it changes all the time; close its client and run this again"
    answer["problems"].append({"path": file.path, "reason": said})
    answer["servers"] += [dict(row, changed=False) for row in _listed(file, scene)[0]]


def _roots(file: ConfigFile, scene: Scene) -> list[str]:
    """The folders in which a file may lie that is to be edited."""
    own = [os.path.dirname(file.path)] if file.place.scope == "system" else []
    return [scene.home, *scene.projects, *own]


def _plan(file: ConfigFile, scene: Scene, wish: dict[str, Any], sight: Sight, records: dict[str, dict[str, Any]]) -> Plan:
    """The new bytes of a file and what to remember. Pure but for reading what was remembered."""
    editor = edit.editor(file.place.format)
    changes: dict[str, edit.Change] = {}
    problems: list[str] = []
    notices: list[str] = []
    keys = [key(entry.path, entry.holds) for entry, _, _ in sight.servers]
    kept = {name: record for name, record in records.items() if name in keys}
    refusals = scene.memory.refusals()
    for name, (entry, decision, around) in zip(keys, sight.servers):
        if keys.count(name) > 1 or not _meant(file, entry, wish):
            continue
        wrapped = decision.wrapping
        try:
            if wish["state"] == "unconfined":
                if wrapped is not None:
                    changes[name] = edit.release(editor, sight.data, entry, wrapped, kept.pop(name, None))
                    if not changes[name].exact:
                        notices.append(
                            f"{file.path}: {mask.line(entry.server)}: nothing is remembered of its wrapping; it is given back with"
                            " the same meaning, but an empty args list may be new"
                        )
            elif decision.state == "unconfined" or (decision.state == "confined" and wrapped and wrapped.path != wish["wrapper"]):
                old = refusals.get(_refusal_key(file, entry))
                if old and old["fingerprint"] == _fingerprint(scene, sight.data, entry):
                    continue
                off = needs_isolation_off(entry, around)
                changes[name] = edit.confine(editor, sight.data, entry, decision, wish["wrapper"], off)
                if changes[name].record is not None:
                    kept[name] = changes[name].record or {}
        except DocumentError as problem:
            problems.append(f"{mask.line(entry.server)}: {problem}")
            if name in records:
                kept[name] = records[name]
            continue
    data = spliced(sight.data, [splice for change in changes.values() for splice in change.splices])
    wanted = {name: change.wanted for name, change in changes.items()}
    return Plan(data, wanted, kept, problems, notices)


def _prove(sight: Sight, after: Sight, wanted: dict[str, Any]) -> None:
    """Compares before and after: the changed entries say what they should, all others what they said."""
    old, new = (
        {key(entry.path, entry.holds): entry.node.plain() for entry, _, _ in seen.servers} for seen in (sight, after)
    )
    if new != {**old, **wanted} or len(after.found) != len(sight.found):
        raise DocumentError("the edit would change more than it should; nothing was written, please report the layout")


def _write(file: ConfigFile, scene: Scene, real: str, sight: Sight, plan: Plan) -> None:
    """Remembers first, so that a kill leaves nothing that cannot be undone; forgets last."""
    now, after = digest(sight.data), digest(plan.data)
    old, original, expected = scene.memory.edits(real), *scene.memory.hashes(real)
    if not old:
        original = now
    elif expected not in (now, after):
        original = ""  # somebody else has edited the file since, so the bytes of the beginning are nobody's wish
    if not plan.records.items() <= old.items():
        scene.memory.remember(real, {**old, **plan.records}, original, after)
    replace(real, sight.data, plan.data)
    scene.memory.remember(real, plan.records, original, after)
    if old and not plan.records and original not in ("", after):
        plan.notices.append(f"{file.path}: given back with the same meaning, but not with the same bytes; please report it")


def _tell(
    file: ConfigFile, wish: dict[str, Any], sights: tuple[Sight, Sight], plan: Plan, rows: list[dict[str, Any]],
    answer: dict[str, Any],
) -> None:
    sight, after = sights
    changed = plan.data != sight.data
    texts = [
        "".join(
            mask.block(entry, decision.wrapping, wish.get("wrapper") or "")
            for entry, decision, _ in seen.servers if key(entry.path, entry.holds) in plan.wanted
        )
        for seen in sights
    ]
    answer["files"].append(
        {"path": file.path, "client": file.client.name, "changed": changed, "before": texts[0], "after": texts[1]}
    )
    keys = [key(entry.path, entry.holds) for entry, _, _ in after.servers]
    answer["servers"] += [
        dict(row, changed=name in plan.wanted) for name, row in zip(keys, rows)
    ]
    answer["problems"] += [{"path": file.path, "reason": reason} for reason in plan.problems]
    answer["notices"] += plan.notices
    if changed and file.client.asks_again:
        answer["notices"].append(f"{file.client.title} asks again for approval of the servers that changed")
    if changed and file.client.rewrites.startswith("constantly"):
        answer["notices"].append(f"{file.client.title} rewrites {file.path} while it runs; restart it, then look again")
    if changed and file.client.lists == "windsurf":
        answer["notices"].append("a Windsurf team whitelist matches commands and cannot be seen here; add the wrapped command to it")


def _meant(file: ConfigFile, entry: Entry, wish: dict[str, Any]) -> bool:
    """Whether the wish is about this server: by its names, or by the list of those that failed their proof."""
    named, refused = wish.get("servers"), wish.get("refused")
    if named is None and refused and wish["state"] == "unconfined":
        return any(_is_refused(file, entry, row) for row in refused)
    return named is None or entry.server in named or f"{file.client.name}:{entry.server}" in named


def _is_refused(file: ConfigFile, entry: Entry, row: dict[str, Any]) -> bool:
    return row.get("server") == entry.server and row.get("client") == file.client.name and row.get("file") == file.path


def _note_refusals(file: ConfigFile, scene: Scene, wish: dict[str, Any], after: Sight) -> None:
    refusals = scene.memory.refusals()
    for entry, _, _ in after.servers:
        for row in wish.get("refused") or []:
            if _is_refused(file, entry, row):
                mark = _fingerprint(scene, after.data, entry)
                refusals[_refusal_key(file, entry)] = {"fingerprint": mark, "reason": str(row.get("reason", ""))}
    if refusals:
        scene.memory.remember_refusals(refusals)


def _refusal_key(file: ConfigFile, entry: Entry) -> str:
    return digest(os.fsencode(os.path.realpath(file.path)), key(entry.path, entry.holds).encode())


def _fingerprint(scene: Scene, data: bytes, entry: Entry) -> str:
    """What a refusal holds for: the entry, the wrapper's version, the policies of its name."""
    parts = [entry.node.extra or data[entry.node.start:entry.node.end], __version__.encode()]
    for folder in POLICY_FOLDERS:
        path = os.path.join(folder.replace("~", scene.home, 1), folder_name(argument_name(entry.server)))
        try:
            parts.append(contents(path))
        except OSError:
            parts.append(b"")
    return digest(*parts)


def _project(file: ConfigFile, entry: Entry) -> str:
    """The folder that a server belongs to: the project of its file, or Claude Code's key for it."""
    return entry.path[1] if entry.path[:1] == ("projects",) else file.project


def _launch(file: ConfigFile, entry: Entry, home: str) -> dict[str, Any]:
    project = _project(file, entry)
    result: dict[str, Any] = {
        "client": file.client.name, "file": file.path, "server": entry.server, "argv": [], "env": {}, "cwd": project or None,
        "problem": None,
    }

    def filled(text: str) -> str:
        return variables.expanded(text, file.client.variables, os.environ, home, project)

    try:
        argv = [filled(word) for word in entry.argv()]
        env = {name: filled(value) for name, value in entry.environment().items() if isinstance(value, str)}
        folder = filled(entry.text("cwd", "working_dir", "working_directory"))
    except variables.Unknown as problem:
        result["problem"] = f"only {file.client.title} can fill in the variable {mask.line(str(problem))}"
        return result
    result.update(argv=argv, env=env)
    if folder:
        result["cwd"] = os.path.join(project or home, folder)
    return result


def _said(problem: Exception) -> str:
    """An error without values: our own texts have none, and of the system's only the kind is told."""
    if isinstance(problem, (DocumentError, Refused)):
        return str(problem)
    return os.strerror(problem.errno) if isinstance(problem, OSError) and problem.errno else type(problem).__name__
