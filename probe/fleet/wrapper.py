"""The wrapper and its policies on this host, as one wish."""
from __future__ import annotations

import os
import shutil

from .. import install, policy_files
from ..clients import act
from ..install import Change
from ..safety import InstallRefused
from .users import Answer, Users, each, own_folders

SECONDS = 120


def ensure(wish: Answer, dry_run: bool) -> Answer:
    """Makes the host match the wish (the parameters of the module `mcp_confine`) and tells what changed.

    Raises `InstallRefused`. The policies come first: a wrapper without a policy that it should have is the worse half.
    """
    present = wish["state"] == "present"
    wrapper = install.plan(wish["prefix"], wish["interpreter"]) if present else install.removal(wish["prefix"])
    policies = None
    if wish["policies"] is not None or not present:
        texts = {name: str(text) for name, text in wish["policies"].items()} if present else {}
        policies = policy_files.plan(texts, wrapper.prefix, wish["policies_folder"])
    changes = [*(policies.changes if policies else ()), *wrapper.changes]
    forgotten: list[str] = []
    if not present:
        if wrapper.changes and not dry_run and not wish["force"]:
            _refuse_in_use(wish["users"], wish["projects"], wrapper.command)
        if wish["remove_user_state"]:
            forgotten = _forget(wish["users"], dry_run)
    if not dry_run:
        if policies:
            policy_files.apply(policies)
        install.apply(wrapper)
    return {
        "changed": bool(changes or forgotten),
        "command": wrapper.command,
        "interpreter": wrapper.interpreter or None,
        "changes": [f"{change.kind} {change.path}" for change in changes] + forgotten,
        "kept": list(policies.kept) if policies else [],
        "diff": [difference(change) for change in changes],
    }


def difference(change: Change) -> Answer:
    return {"before_header": change.path, "after_header": change.path,
            "before": change.before or "", "after": change.after or ""}


def _refuse_in_use(users: Users, projects: list[str], command: str) -> None:
    used = []
    for answer in each(users, _entries, lambda user: (user.home, projects, command), SECONDS):
        if "error" in answer:
            used.append(f"{answer['user']}: {answer['error']}")
        used += [f"{answer['user']}: {entry}" for entry in answer.get("result", [])]
    if used:
        raise InstallRefused(f"{command} is still in use and stays: {'; '.join(used)}. "
                             "Set these back first (mcp_launch_config, state: unconfined)")


def _entries(home: str, projects: list[str], command: str) -> list[str]:
    """The entries that start through this wrapper, or may: those of which nobody can tell what they start count too."""
    return [f"{launch['client']}:{launch['server']} in {launch['file']}"
            for launch in act.launches(home, own_folders(home, projects)) if launch["argv"][:1] in ([command], [])]


def _forget(users: Users, dry_run: bool) -> list[str]:
    answers = each(users, _forget_own, lambda user: (user.home, dry_run), SECONDS)
    failed = [f"{answer['user']}: {answer['error']}" for answer in answers if "error" in answer]
    if failed:
        raise InstallRefused(f"the state of confined servers could not be deleted: {'; '.join(failed)}")
    return [f"state {answer['result']}" for answer in answers if answer["result"]]


def _forget_own(home: str, dry_run: bool) -> str | None:
    folder = os.path.join(home, ".local/state/mcp-confine")
    if not os.path.isdir(folder) or os.path.islink(folder):
        return None
    if not dry_run:
        shutil.rmtree(folder)
    return folder
