"""Whether a server is confined, can be, or is left alone and why. Pure: what it needs to know is handed in."""
from __future__ import annotations

import os
import re
from typing import NamedTuple

from .catalogue import OUTER_WRAPPERS, Client, Place
from .document import Node
from .entries import Entry, Wrapping, is_remote, wrapping

CONTAINER_TOOLS = ("docker", "podman", "nerdctl", "thv", "toolhive", "docker-compose", "podman-compose")
RIGHTS_TOOLS = ("sudo", "doas", "pkexec", "su", "runuser", "run0")
WINDOWS_TOOLS = ("cmd", "powershell", "pwsh.exe", "wsl")
SHELLS = ("sh", "bash", "dash", "zsh", "ash", "ksh")
STARTERS = ("env", "nice", "nohup", "ionice", "stdbuf", "setsid", "exec")
ARGUMENT_BYTES = 200


class Program(NamedTuple):
    """What a command's name leads to on this host: the path with all links resolved, "" when it was not found."""

    path: str = ""
    setuid: bool = False
    snap: bool = False


class Surroundings(NamedTuple):
    """What a decision needs to know beside the entry.

    `known` are the paths at which this host has or had the wrapper. `asked`: the user named this server. `listed`: why
    an allow or deny list concerns it, "" if none does. `file`: why its file is left alone.
    `isolation`: mcpproxy's own isolation for all servers, "docker" or "".
    """

    known: frozenset[str]
    home: str
    program: Program = Program()
    asked: bool = False
    listed: str = ""
    file: str = ""
    isolation: str = ""


class Decision(NamedTuple):
    """`state`: confined, unconfined, remote or never_wrapped. `wrapping` is set wherever the wrapper was found."""

    state: str
    reason: str
    wrapping: Wrapping | None = None


def decide(entry: Entry, client: Client, where: Place, around: Surroundings) -> Decision:
    """The state of one server and the reason for it."""
    if is_remote(entry, client):
        return Decision("remote", "it runs elsewhere, there is no process to confine")
    broken = _unusable(entry)
    if broken:
        return Decision("never_wrapped", broken)
    wrapped = wrapping(entry, around.known)
    if wrapped is not None and wrapped.how == "nested":
        outer = os.path.basename(entry.argv()[0])
        said = f"{outer} already starts it through the wrapper; {outer} itself is not confined"
        return Decision("never_wrapped", said, wrapped)
    if wrapped is not None and wrapped.path in around.known:
        return Decision("confined", "", wrapped)
    if wrapped is not None:
        said = f"starts a program named {os.path.basename(wrapped.path)} that was not put there by us"
        return Decision("unconfined", said, wrapped)
    reason = where.fixed or _never(entry, client, around) or around.file
    return Decision("never_wrapped", reason) if reason else Decision("unconfined", "")


def _unusable(entry: Entry) -> str:
    node: Node
    for node in (entry.node, entry.body):
        keys = [key.casefold() for key, _, _ in node.members]
        if node.duplicate is not None or len(set(keys)) < len(keys):
            return "a key is there twice in its entry; remove one"
        if node.blocked:
            return node.blocked
    if not entry.server:
        return "it has no name"
    if entry.command is None:
        return "it has no command of its own"
    if entry.shape.args and entry.args is not None and entry.args.kind != "array":
        return "its arguments are not a list"
    words = entry.command.items[:1] if entry.command.kind == "array" else [entry.command]
    if not words or words[0].kind != "string" or not words[0].value.strip():
        return "its command is empty"
    for child in (entry.command, entry.args):
        if child is not None and child.blocked:
            return child.blocked
    return ""


def _never(entry: Entry, client: Client, around: Surroundings) -> str:
    argv = entry.argv()
    names = programs(argv)
    container = next((name for name in names if name in CONTAINER_TOOLS), "")
    if container:
        more = "; this one comes from snap, and `probe host` tells what that breaks" if around.program.snap else ""
        return f"{container} runs it in a container: the client would be confined, not the server{more}"
    for name in names:
        if name in RIGHTS_TOOLS:
            return f"{name} changes rights, which the wrapper forbids for good"
        if name in WINDOWS_TOOLS or name.endswith((".exe", ".cmd", ".bat", ".ps1")):
            return "its command is for Windows"
    if "\\" in argv[0]:
        return "its command is for Windows"
    if around.program.snap:
        return "its command comes from snap, which cannot start without gaining rights"
    if around.program.setuid:
        return "its command is setuid or has file capabilities, which the wrapper takes away"
    if not around.asked and any(re.fullmatch(r"mcp-remote(@.*)?", os.path.basename(word)) for word in argv):
        return "mcp-remote is a bridge to a remote server; name the server to confine it all the same"
    if not client.variables and re.search(r"\$\{|\$[A-Za-z_]|\{env:", argv[0]):
        return f"its command has a variable, and {client.title} is not known to expand those in arguments"
    if around.isolation and _own_isolation(entry) is True:
        return "the user chose mcpproxy's Docker isolation for it"
    return around.listed


def _own_isolation(entry: Entry) -> bool | None:
    """The user's own choice of mcpproxy's isolation for this server, None when there is none."""
    isolation = entry.node.get("isolation")
    chosen = isolation.plain() if isolation is not None and isolation.kind == "object" else {}
    if chosen.get("mode") is not None:
        return chosen["mode"] == "docker"
    return chosen.get("enabled")


def needs_isolation_off(entry: Entry, around: Surroundings) -> bool:
    """Whether mcpproxy would put this server into a container by its setting for all of them."""
    return bool(around.isolation) and _own_isolation(entry) is None


def programs(argv: list[str]) -> list[str]:
    """The names of the programs that a command line is known to start, through `env` and `sh -c` as well."""
    names: list[str] = []
    words = argv[:1] if os.path.isabs(argv[0]) or " " not in argv[0] else argv[0].split()[:1]
    words = [*words, *argv[1:]]
    while words:
        name = os.path.basename(words[0])
        names.append(name)
        rest = words[1:]
        if name in SHELLS:
            script = next((rest[i + 1] for i, word in enumerate(rest[:-1]) if re.fullmatch(r"-[a-z]*c", word)), "")
            words = script.split()
        elif name in STARTERS or name in OUTER_WRAPPERS:
            words = rest
        else:
            break
        while words and (words[0].startswith("-") or re.match(r"[A-Za-z_]\w*=", words[0])):
            words = words[1:]
    return names


def argument_name(server: str) -> str:
    """`server` as a value of `--name`: what an argument cannot carry, or a client would expand, is replaced."""
    text = "".join("_" if char in "\0\n\r${}" or "\ud800" <= char <= "\udfff" else char for char in server) or "unnamed"
    if len(text.encode()) <= ARGUMENT_BYTES:
        return text
    import hashlib  # whoever only looks does not need it

    digest = hashlib.sha256(server.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return text.encode()[:ARGUMENT_BYTES - 17].decode("utf-8", "ignore") + "-" + digest


def wrapper_arguments(entry: Entry) -> list[str]:
    """What goes between the wrapper's path and the original command: the name, the names of variables, `--`."""
    pairs = [("--name", argument_name(entry.server))]
    pairs += [("--env", name) for name in entry.env_names() if not re.search(r"[${}]", name)]
    words: list[str] = []
    for option, value in pairs:
        words += [f"{option}={value}"] if value.startswith("-") else [option, value]
    return [*words, "--"]
