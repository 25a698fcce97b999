"""One file as it is read: its servers, what was decided about each, and how that is shown."""
from __future__ import annotations

import os
from typing import Any, Callable, NamedTuple

from .. import __version__
from ..confine.policy import folder_name
from . import edit, lists, look, mask
from .decide import Decision, Program, Surroundings, argument_name, decide, programs
from .discover import ConfigFile
from .document import DocumentError, Found, Splice
from .entries import Entry, entries, readable
from .replace import Refused, contents
from .undo import Memory, digest, key

Judge = Callable[[list[str], str], list[dict[str, Any]]]  # of docker's argv and the home
POLICY_FOLDERS = ("/etc/mcp-confine/policies", "~/.config/mcp-confine/policies")


class Scene(NamedTuple):
    """The user whose files are looked at, and what was asked for. `known`: the wrapper's paths, past ones included."""

    home: str
    projects: list[str]
    memory: Memory
    known: frozenset[str]
    include_tracked: bool
    asked: frozenset[str]


class Sight(NamedTuple):
    """The bytes of a file and its servers."""

    data: bytes
    found: list[Found]
    servers: list[tuple[Entry, Decision, Surroundings]]

    def meanings(self) -> dict[str, Any]:
        """The data of each entry by its key."""
        return {key(entry.path, entry.holds): entry.node.plain() for entry, _, _ in self.servers}


def scene(
    home: str, projects: list[str], include_tracked: bool = False, asked: frozenset[str] = frozenset(), *,
    wrapper: str = "",
) -> Scene:
    """The scene of one user."""
    memory = Memory(home)
    known = memory.wrappers() | ({wrapper} if wrapper else set())
    return Scene(home, projects, memory, known, include_tracked, asked)


def sight(
    file: ConfigFile, scene: Scene, data: bytes, before: Sight | None = None, splices: list[Splice] | None = None
) -> Sight:
    """What the bytes of a file say; after an edit, given what they said before. Raises `DocumentError`."""
    editor = edit.editor(file.place.format)
    if before is None:
        found = editor.read(data, file.place.keys)
    else:
        found = editor.read_again(data, file.place.keys, before.found, splices or [])
    listed = entries(found, file.client, os.path.basename(file.path).rpartition(".")[0])
    holder = "" if scene.include_tracked or not listed else look.tracked(os.path.realpath(file.path))
    reason = f"its file is under version control ({holder}); ask for such files to include them" if holder else ""
    isolation = next((node.plain() for path, _, node in found if path == ("docker_isolation",)), None)
    keys = [key(entry.path, entry.holds) for entry in listed]
    result = []
    for name, entry in zip(keys, listed):
        argv = entry.argv()
        around = Surroundings(
            known=scene.known,
            home=scene.home,
            program=look.program(argv, scene.home) if argv else Program(),
            asked=bool(scene.asked & {entry.server, f"{file.client.name}:{entry.server}"}),
            listed=lists.reason(file.client.lists, scene.home, project(file, entry), entry.server, argv),
            file=reason if keys.count(name) == 1 else "another server of the same list has its name; rename one",
            isolation=_isolation(isolation),
        )
        result.append((entry, decide(entry, file.client, file.place, around), around))
    return Sight(data, found, result)


def _isolation(setting: Any) -> str:
    """mcpproxy's isolation of all servers: "docker", or "" for any other. Its `mode` counts before its `enabled`."""
    if not isinstance(setting, dict):
        return ""
    mode = setting.get("mode") or ("docker" if setting.get("enabled") is True else "")
    return "docker" if mode == "docker" else ""


def listed(file: ConfigFile, scene: Scene, judge_docker: Judge | None = None) -> list[dict[str, Any]]:
    """The rows of one file as it is now; one row without a server when it cannot be read.

    With `judge_docker` the row of a server that docker starts has `docker_arguments`: what it made of the real ones.
    """
    if file.place.format == "opaque":
        return [_row(file, "never_wrapped", file.place.fixed, "unknown")]
    try:
        seen = sight(file, scene, contents(file.path))
    except (OSError, DocumentError) as problem:
        return [_row(file, "unreadable", said(problem), "unknown")]
    result = rows(file, scene, seen)
    for row, (entry, decision, _) in zip(result, seen.servers):
        argv = entry.argv()
        if judge_docker and argv and "docker" in programs(argv):
            row["docker_arguments"] = judge_docker(argv, scene.home)
        path = decision.wrapping.path if decision.wrapping else ""
        if row["state"] == "confined" and not os.path.exists(path):
            row["reason"] = f"it cannot start: {path} is not there; install the wrapper or confine it again"
    return result


def rows(file: ConfigFile, scene: Scene, seen: Sight) -> list[dict[str, Any]]:
    """The servers of a file as `act.servers` lists them."""
    result = []
    for entry, decision, _ in seen.servers:
        state, reason = decision.state, decision.reason
        refusal = refused(file, scene, seen.data, entry) if state == "unconfined" else ""
        if refusal:
            state, reason = "refused", refusal
        transport = "remote" if state == "remote" else "stdio" if entry.command is not None else "unknown"
        argv = entry.argv()
        result.append({
            **_row(file, state, reason, transport),
            "server": entry.server,
            "project": project(file, entry) or None,
            "command": mask.program(argv[0]) if argv else "",
            "args_masked": mask.arguments(entry, decision.wrapping),
        })
    return result


def _row(file: ConfigFile, state: str, reason: str, transport: str) -> dict[str, Any]:
    return {
        "client": file.client.name, "file": file.shown, "scope": file.place.scope, "server": "",
        "project": file.project or None, "transport": transport, "state": state, "reason": reason,
        "command": "", "args_masked": [],
    }


def refused(file: ConfigFile, scene: Scene, data: bytes, entry: Entry) -> str:
    """Why this server failed its proof, while everything that could have changed that is the same; else ""."""
    old = scene.memory.refusals().get(refusal_key(file, entry))
    return old["reason"] if old and old["fingerprint"] == fingerprint(scene, data, entry) else ""


def refusal_key(file: ConfigFile, entry: Entry) -> str:
    """The name of a server in the memory of refusals; it tells neither file nor server."""
    return digest(os.fsencode(os.path.realpath(file.path)), key(entry.path, entry.holds).encode())


def fingerprint(scene: Scene, data: bytes, entry: Entry) -> str:
    """What a refusal holds for: the entry, the wrapper's version, the policies of its name."""
    parts = [entry.node.extra or data[entry.node.start:entry.node.end], __version__.encode()]
    for folder in POLICY_FOLDERS:
        path = os.path.join(folder.replace("~", scene.home, 1), folder_name(argument_name(entry.server)))
        try:
            parts.append(contents(path))
        except OSError:
            parts.append(b"")
    return digest(*parts)


def project(file: ConfigFile, entry: Entry) -> str:
    """The folder that a server belongs to: the project of its file, or Claude Code's key for it; "" for none."""
    return readable(entry.path[1]) if entry.path[:1] == ("projects",) else file.project


def said(problem: Exception) -> str:
    """An error without values: our own texts have none, and of the system's only the kind is told."""
    if isinstance(problem, (DocumentError, Refused)):
        return str(problem)
    return os.strerror(problem.errno) if isinstance(problem, OSError) and problem.errno else type(problem).__name__
