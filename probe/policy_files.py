"""Policy files that an operator hands out: written whole, read by the wrapper's own parser first, and remembered.

What was written is remembered by digest beside the wrapper, so that a policy which leaves the inventory leaves the
host, and a file that somebody put there by hand or changed since is never taken away.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from typing import NamedTuple

from . import safety
from .confine.policy import Refused, check_text, folder_name
from .install import Change, library_path
from .safety import InstallRefused

MEMORY = "policies.json"


class PolicyPlan(NamedTuple):
    """What has to change in `folder`; `remembered` is what belongs to this afterwards, `kept` what is left alone."""

    folder: str
    memory: str
    changes: tuple[Change, ...]
    remembered: dict[str, str]
    texts: dict[str, str]
    kept: tuple[str, ...]


def default_folder() -> str:
    """Where the wrapper looks first when root installs it, and where it looks for a user's own."""
    if os.geteuid() == 0:
        return "/etc/mcp-confine/policies"
    return os.path.join(os.path.expanduser("~"), ".config/mcp-confine/policies")


def plan(policies: dict[str, str], prefix: str, folder: str | None = None) -> PolicyPlan:
    """What makes the folder hold these policies, by server name, and none that an earlier call had put there.

    Raises `InstallRefused` naming the policy and line that the wrapper would not read.
    """
    folder = folder or default_folder()
    memory = os.path.join(library_path(prefix), MEMORY)
    texts = {}
    for name, text in policies.items():
        if not name:
            raise InstallRefused("a policy needs the name of the server it is for")
        text = text if text.endswith("\n") else text + "\n"
        try:
            check_text(text, f"policy {name}")
        except Refused as problem:
            raise InstallRefused(f"{problem}; nothing was written") from None
        texts[folder_name(name)] = text
    remembered = _remembered(memory)
    changes, kept = [], []
    for name, text in sorted(texts.items()):
        before = _read(os.path.join(folder, name))
        if before != text or not safety.is_own(os.path.join(folder, name), 0o644):
            changes.append(Change("policy", os.path.join(folder, name), masked(before), masked(text)))
    for name, digest in sorted(remembered.items()):
        before = _read(os.path.join(folder, name))
        if name in texts or before is None:
            continue
        if _digest(before) == digest:
            changes.append(Change("remove policy", os.path.join(folder, name), masked(before), None))
        else:
            kept.append(os.path.join(folder, name))
    if changes:
        safety.refuse_unsafe_folder(folder, writing=True)
    return PolicyPlan(folder, memory, tuple(changes), {name: _digest(text) for name, text in texts.items()}, texts,
                      tuple(kept))


def apply(wanted: PolicyPlan) -> None:
    """Does what the plan says. Raises `InstallRefused` when a file cannot be written; each file is old or new."""
    try:
        if wanted.texts:
            safety.make_folder(wanted.folder)
        # Remembered first: a policy written and then forgotten would stay for ever.
        if wanted.remembered != _remembered(wanted.memory):
            safety.make_folder(os.path.dirname(wanted.memory))
            both = {**_remembered(wanted.memory), **wanted.remembered}
            safety.write(wanted.memory, json.dumps(both, indent=1, sort_keys=True).encode(), 0o644)
        for change in wanted.changes:
            if change.kind == "policy":
                safety.write(change.path, wanted.texts[os.path.basename(change.path)].encode(), 0o644)
            else:
                os.unlink(change.path)
        if wanted.remembered != _remembered(wanted.memory):
            safety.write(wanted.memory, json.dumps(wanted.remembered, indent=1, sort_keys=True).encode(), 0o644)
        if not wanted.texts:
            for folder in (wanted.folder, os.path.dirname(wanted.folder)):
                with contextlib.suppress(OSError):  # not empty, or not there
                    os.rmdir(folder)
    except OSError as problem:
        raise InstallRefused(f"{problem.filename or wanted.folder}: {problem.strerror}; make room or make it writable "
                             "and run this again") from None


def masked(text: str | None) -> str | None:
    """The policy without the values that it sets in a server's environment."""
    return text and re.sub(r"(?m)^(\s*--setenv[\s=]+[^=\s]+=).*$", r"\1***", text)


def _remembered(memory: str) -> dict[str, str]:
    try:
        with open(memory, encoding="utf-8") as file:
            return dict(json.load(file))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        raise InstallRefused(f"{memory}: cannot be read; remove it, and the policies that are no longer wanted by hand"
                             ) from None


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise InstallRefused(f"{path}: cannot be read: {problem.strerror}; move it away") from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
