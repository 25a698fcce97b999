"""Client entries of each user, confined or given back."""
from __future__ import annotations

from ..clients import act
from ..clients.catalogue import BY_NAME
from ..install import default_wrapper
from ..users import User
from .users import Answer, Users, each, own_folders, problem, seen

SECONDS = 120
# What an editor says is missing: the word in its reason, and the name by which a role knows the package.
MISSING = {"tomlkit": "tomlkit", "PyYAML": "yaml"}
OPEN_STATES = ("unconfined", "refused", "unreadable")


def configure(users: Users, wish: Answer) -> Answer:
    """`clients.act.set_state` as each user; with `refused` in the wish, as those users whose entries it names.

    `files`, `servers` and `problems` of all users in one list each, every entry with its `user`; and in a sentence
    each: `not_confined` (stdio servers that the wish meant and that it leaves open, files that it could not deal with)
    and `to_do` (what it changed or would change). `editors_missing` names what a package could bring; `seen` says where
    and when.
    Raises `ValueError` for a client that is not known.
    """
    unknown = sorted(set(wish.get("clients") or []) - set(BY_NAME))
    if unknown:
        raise ValueError(f"no client named {', '.join(unknown)}; known are {', '.join(sorted(BY_NAME))}")
    refused = wish.get("refused")
    wish = {**wish, "wrapper": wish["wrapper"] or default_wrapper()}

    def arguments(user: User) -> tuple:
        own = wish if refused is None else {**wish, "refused": [
            {key: value for key, value in entry.items() if key != "user"}
            for entry in refused if entry["user"] == user.name]}
        return user.home, own

    total: Answer = {"changed": False, "files": [], "servers": [], "problems": [], "notices": []}
    whose = users if refused is None else sorted({entry["user"] for entry in refused})
    for answer in each(whose, _set_state, arguments, SECONDS):
        if "error" in answer:
            total["problems"].append(problem(answer))
            continue
        result = answer["result"]
        total["changed"] = total["changed"] or result["changed"]
        for kind in ("files", "servers", "problems"):
            total[kind] += [{"user": answer["user"], **entry} for entry in result[kind]]
        total["notices"] += [f"{answer['user']}: {notice}" for notice in result["notices"]]
    total["not_confined"] = not_confined(total, wish.get("servers"))
    total["to_do"] = [_named(entry) for entry in total["servers"] if entry["changed"]]
    reasons = [entry["reason"] for entry in total["problems"]]
    total["editors_missing"] = sorted({name for word, name in MISSING.items() if any(word in text for text in reasons)})
    total["seen"] = seen()
    return total


def not_confined(total: Answer, asked: list[str] | None) -> list[str]:
    """What stays open of what was meant, one sentence each. What is never wrapped is a choice and is not among it."""
    told = {(entry["user"], entry["path"]) for entry in total["problems"]}
    return [f"{entry['user']}: {entry['path'] or 'its files'}: {entry['reason']}" for entry in total["problems"]] + [
        f"{_named(entry)} is {entry['state']}{': ' + entry['reason'] if entry['reason'] else ''}"
        for entry in total["servers"]
        if entry["state"] in OPEN_STATES and (entry["user"], entry["file"]) not in told
        and (asked is None or {entry["server"], f"{entry['client']}:{entry['server']}"} & set(asked))]


def differences(files: list[Answer]) -> list[Answer]:
    """The changed files, in the form in which Ansible draws a diff; the texts are masked where they were made."""
    return [{"before_header": file["path"], "after_header": file["path"], "before": file["before"],
             "after": file["after"]} for file in files if file["changed"]]


def _named(entry: Answer) -> str:
    return f"{entry['user']}: {entry['client']}:{entry['server']}" if entry["server"] else (
        f"{entry['user']}: {entry['file']}")


def _set_state(home: str, wish: Answer) -> Answer:
    return act.set_state(home, {**wish, "projects": own_folders(home, wish["projects"])})
