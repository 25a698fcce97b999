"""Config entries for people's eyes: the structure stays visible, no value of arguments, environment or headers does."""
from __future__ import annotations

import os
import re

from .entries import Entry, Wrapping

HIDDEN = "***"
PLAIN_WORDS = ("-y", "--yes", "-m", "-i", "--rm", "--", "run", "exec", "--from", "--with", "--package")
OWN_OPTIONS = (
    "--name", "--policy", "--ro", "--rw", "--args", "--unix", "--net", "--connect", "--bind", "--env", "--setenv",
    "--home", "--limit", "--userns", "--user", "--require", "--allow-degraded", "--max-abi",
)
_PROGRAM = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,40}")


def program(command: str) -> str:
    """The base name of a command, or the mask when it does not look like a program's name."""
    name = os.path.basename(command)
    return name if _PROGRAM.fullmatch(name) else HIDDEN


def line(text: str) -> str:
    """A name out of a file, safe to print: no control characters, not endless."""
    shown = "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)
    return shown if len(shown) <= 120 else shown[:117] + "..."


def arguments(entry: Entry, wrapped: Wrapping | None) -> list[str]:
    """The arguments with every value hidden, except words without meaning of their own and what the wrapper brought."""
    words: list[str] = []
    nodes = entry.args.items if entry.args is not None else []
    if entry.command is not None and entry.command.kind == "array":
        nodes = entry.command.items[1:]
    offset = 1 if wrapped is not None and wrapped.how == "list" else 0
    for index, node in enumerate(nodes):
        word = node.value if node.kind == "string" else None
        ours = wrapped is not None and wrapped.first <= index + offset <= wrapped.last
        if word is None:
            words.append(HIDDEN)
        elif ours:
            words.append(_own(word, words[-1] if words else ""))
        elif wrapped is not None and index + offset == wrapped.last + 1:
            words.append(program(word))
        else:
            words.append(word if word in PLAIN_WORDS else HIDDEN)
    return words


def _own(word: str, before: str) -> str:
    option, equals, value = word.partition("=")
    if equals and option in ("--name", "--env"):
        return f"{option}={line(value)}"
    if equals and option in OWN_OPTIONS:
        return f"{option}={HIDDEN}"
    if before in ("--name", "--env"):
        return line(word)
    return word if word == "--" or word in OWN_OPTIONS else HIDDEN


def block(entry: Entry, wrapped: Wrapping | None, wrapper: str) -> str:
    """The entry as a few lines of text for a diff."""
    argv = entry.argv()
    path = "".join(f"[{line(part)}]" for part in entry.path)
    shown = program(argv[0]) if argv else HIDDEN
    if wrapped is not None and wrapped.how != "nested" and wrapped.path == wrapper:
        shown = wrapper
    rows = [f"{path}:", f"  command: {shown}"]
    words = arguments(entry, wrapped)
    if entry.args is not None or words:
        rows.append(f"  args: {' '.join(words)}".rstrip())
    rows += [f"  env: {line(name)}={HIDDEN}" for name in entry.environment()]
    isolation = entry.node.get("isolation")
    if isolation is not None and isolation.kind == "object" and isolation.get("enabled") is not None:
        rows.append(f"  isolation.enabled: {str(isolation.plain()['enabled']).lower()}")
    return "\n".join(rows) + "\n"
