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


def observe(distribution: dict[str, Any], root: str = "/", home: str | None = None,
            workspaces: list[str] | None = None) -> dict[str, Any]:
    """The facts of this host as they are for the current user in the current process.

    {"schema", "user": {"name", "uid", "home", "root"}, "distribution", "problems": [{"subject", "reason"}], and one
    entry per subject: kernel, landlock, namespaces, bubblewrap, apparmor, lsm, boot, docker, podman, context, sockets,
    runtimes, folders}. A subject maps names to facts (see `read`); one that failed as a whole is empty and is named in
    `problems`. `landlock.self_tests` is a list of facts, the home's first.

    `workspaces` are folders where servers work; without them the current folder counts. With another `root` only files
    below it are read. Every subject has a child and a deadline of its own. Never raises for what a host looks like.
    """
    user = kernel.person(home or _home())
    home, name = user["home"], user["name"]
    places = _workspaces() if workspaces is None else workspaces
    works = {
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
        "folders": Work(partial(folders.facts, root, home, places), READING),
    }
    tests = {}
    if root == "/":
        tests = {f"self-test in {home}": Work(partial(landlock.self_test, home), TESTING),
                 "self-tests elsewhere": Work(partial(_elsewhere, home, places), TESTING)}
    answers = gather({**works, **tests})
    found: dict[str, Any] = {"schema": SCHEMA, "user": user, "distribution": distribution, "problems": []}
    for subject, answer in answers.items():
        if "problem" in answer:
            found["problems"].append({"subject": subject, "reason": answer["problem"]})
    for subject in works:
        found[subject] = answers[subject].get("result", {})
    results = [answers[test]["result"] for test in tests if "result" in answers[test]]
    found["landlock"]["self_tests"] = [
        fact for result in results for fact in (result if isinstance(result, list) else [result])
    ]
    return found


def _elsewhere(home: str, places: list[str]) -> list[dict[str, Any]]:
    return [landlock.self_test(place) for place in landlock.other_file_systems(home, places)]


def _home() -> str:
    from .. import users

    return users.me().home


def _workspaces() -> list[str]:
    """The current folder, when servers could be at work there: not the root folder, and this user's to write."""
    try:
        here = os.getcwd()
    except OSError:
        return []
    return [here] if here != "/" and os.access(here, os.W_OK) else []
