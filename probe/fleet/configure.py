"""Client entries of each user, confined or given back."""
from __future__ import annotations

from ..clients import act
from ..users import User
from .users import Answer, Users, each, own_folders, problem

SECONDS = 120


def configure(users: Users, wish: Answer) -> Answer:
    """`clients.act.set_state` as each user; with `refused` in the wish, as those users whose entries it names.

    `files`, `servers` and `problems` of all users in one list each, every entry with its `user`.
    """
    refused = wish.get("refused")

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
    return total


def _set_state(home: str, wish: Answer) -> Answer:
    return act.set_state(home, {**wish, "projects": own_folders(home, wish["projects"])})
