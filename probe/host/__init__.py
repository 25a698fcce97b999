"""Observe: one file per subject; every function returns plain facts with their evidence and never judges."""
from __future__ import annotations

import os
from functools import partial
from typing import Any

from . import (
    apparmor,
    boot,
    bubblewrap,
    context,
    docker,
    folders,
    kernel,
    landlock,
    lsm,
    namespaces,
    podman,
    runtimes,
    sockets,
)
from .child import Work, gather

SCHEMA = 1
READING, ASKING, TESTING = 5.0, 10.0, 45.0  # seconds


def observe(
    distribution: dict[str, Any], root: str = "/", home: str | None = None, workspaces: list[str] | None = None
) -> dict[str, Any]:
    """The facts of this host as they are for the current user in the current process.

    {"schema", "user": {"name", "uid", "home", "root"}, "distribution", "problems": [{"subject", "reason"}], and one
    entry for each of `subjects`}. A subject maps names to facts (see `read`); one that failed as a whole is empty and
    is named in `problems`. `landlock.self_tests` is a list of facts, the home's first.

    `workspaces` are folders where servers work; without them the current folder counts. With another `root` only files
    below it are read. Every subject has a child and a deadline of its own. Never raises for what a host looks like.
    """
    user = kernel.person(home)
    places = _workspaces() if workspaces is None else workspaces
    works, tests = subjects(user, root, places), {}
    if root == "/":
        tests = {f"self-test in {user['home']}": Work(partial(_self_tests, [user["home"]]), TESTING),
                 "self-tests elsewhere": Work(partial(_elsewhere, user["home"], places), TESTING)}
    answers = gather({**works, **tests})
    found: dict[str, Any] = {"schema": SCHEMA, "user": user, "distribution": distribution, "problems": [
        {"subject": name, "reason": answer["problem"]} for name, answer in answers.items() if "problem" in answer]}
    for name in works:
        found[name] = answers[name].get("result", {})
    found["landlock"]["self_tests"] = [fact for name in tests for fact in answers[name].get("result", [])]
    return found


def subjects(user: dict[str, Any], root: str, workspaces: list[str]) -> dict[str, Work]:
    """What is looked at, each with its deadline in seconds."""
    home, name = user["home"], user["name"]
    return {
        "kernel": Work(partial(kernel.facts, root), READING),
        "landlock": Work(partial(landlock.facts, root), ASKING),
        "namespaces": Work(partial(namespaces.facts, root), READING),
        "bubblewrap": Work(partial(bubblewrap.facts, root, home), ASKING),
        "apparmor": Work(partial(apparmor.facts, root, home), READING),
        "lsm": Work(partial(lsm.facts, root), READING),
        "boot": Work(partial(boot.facts, root), READING),
        "docker": Work(partial(docker.facts, root, home, name), ASKING),
        "podman": Work(partial(podman.facts, root, home, name, user["uid"]), READING),
        "context": Work(partial(context.facts, root), READING),
        "sockets": Work(partial(sockets.facts, root, home), ASKING),
        "runtimes": Work(partial(runtimes.facts, root, home), READING),
        "folders": Work(partial(folders.facts, root, home, workspaces), READING),
    }


def _self_tests(folders: list[str]) -> list[dict[str, Any]]:
    return [landlock.self_test(folder) for folder in folders]


def _elsewhere(home: str, folders: list[str]) -> list[dict[str, Any]]:
    return _self_tests(landlock.other_file_systems(home, folders))


def _workspaces() -> list[str]:
    """The current folder, when servers could be at work there: not the root folder, and this user's to write."""
    try:
        here = os.getcwd()
    except OSError:
        return []
    return [here] if here != "/" and os.access(here, os.W_OK) else []
