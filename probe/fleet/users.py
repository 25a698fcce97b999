"""Who is meant by `users`, and the loop over them."""
from __future__ import annotations

import glob
import os
import time
from typing import Any, Callable, Union

from .. import users as accounts
from ..users import User, WorkFailed

Answer = dict[str, Any]
Users = Union[str, list[str]]


def chosen(wish: Users) -> tuple[list[User], list[Answer]]:
    """The users meant by "auto" or by their names, and an answer with an error for each name that does not exist."""
    if wish in ("auto", ["auto"]):
        return accounts.people(), []
    found, missing = [], []
    for name in [wish] if isinstance(wish, str) else wish:
        try:
            found.append(accounts.named(name))
        except KeyError as problem:
            missing.append({"user": name, "error": str(problem.args[0])})
    return found, missing


def each(users: Users, work: Callable[..., Any], arguments: Callable[[User], tuple], seconds: float) -> list[Answer]:
    """`work(*arguments(user))` as each user: [{"user", "result"} or {"user", "error"}], unknown names first."""
    people, answers = chosen(users)
    for user in people:
        try:
            result = accounts.run_as(user, work, *arguments(user), deadline=seconds)
            answers.append({"user": user.name, "result": result})
        except (WorkFailed, OSError) as problem:
            answers.append({"user": user.name, "error": str(problem)})
    return answers


def together(answers: list[Answer], kind: str) -> Answer:
    """Lists of entries made one list, every entry with its `user`; what failed is in `problems`."""
    total: Answer = {kind: [], "problems": []}
    for answer in answers:
        if "error" in answer:
            total["problems"].append(problem(answer))
        else:
            total[kind] += [{"user": answer["user"], **entry} for entry in answer["result"]]
    return total


def problem(answer: Answer) -> Answer:
    return {"user": answer["user"], "path": None, "reason": answer["error"]}


def seen() -> Answer:
    """Where and when an answer is made: {"node": what the host calls itself, "time": ISO 8601 in UTC}."""
    return {"node": os.uname().nodename, "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}


def own_folders(home: str, patterns: list[str]) -> list[str]:
    """Folders that the patterns (`~/src/*`, `/srv/app`) name and this user owns; runs as that user.

    A project's file belongs to its owner, so that no two users edit the same one.
    """
    found = set()
    for pattern in patterns:
        for path in glob.glob(home + pattern[1:] if pattern == "~" or pattern.startswith("~/") else pattern):
            if os.path.isdir(path) and os.stat(path).st_uid == os.geteuid():
                found.add(os.path.abspath(path))
    return sorted(found)
