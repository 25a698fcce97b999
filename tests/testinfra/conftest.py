"""A host as it is seen from outside: its users, their client files, and acts tried as them.

    pytest tests/testinfra --hosts=ssh://root@host        or docker://NAME, or local:// which is the default

Nothing is copied to the host, and no value of a client's file is printed. MCP_CONFINE_USERS=NAME,NAME limits them to
these users. These tests judge a host on which the wrapper is meant to be, so they run only where they are asked for by
path or by `--hosts`.
"""
from __future__ import annotations

import os
import shlex
import uuid
from typing import Any, NamedTuple

import pytest

from probe.clients import edit
from probe.clients.catalogue import CLIENTS, FOLDERS, Client, Place
from probe.clients.decide import Surroundings, decide
from probe.clients.document import DocumentError
from probe.clients.entries import entries
from probe.users import NO_LOGIN_SHELLS

WRAPPER = "/usr/local/bin/mcp-confine"


def pytest_ignore_collect(collection_path, config):
    asked = config.getoption("hosts") or any("testinfra" in str(word) for word in config.invocation_params.args)
    return None if asked else True


class Account(NamedTuple):
    """A user of the host who could start a server."""

    name: str
    uid: int
    home: str


class Server(NamedTuple):
    """One entry of one file: where it is and how it stands. Never its arguments."""

    user: Account
    client: str
    file: str
    name: str
    state: str
    reason: str


class Target:
    """The host, with work done as one of its users."""

    def __init__(self, host: Any) -> None:
        self.host = host
        self.root = host.user().uid == 0

    def run(self, user: Account, command: str) -> Any:
        """`command` by /bin/sh as `user` in the user's home."""
        inside = f"cd {shlex.quote(user.home)} && {command}"
        if not self.root:
            return self.host.run(inside)
        return self.host.run(f"HOME={shlex.quote(user.home)} su -m -s /bin/sh {shlex.quote(user.name)} -c "
                             f"{shlex.quote(inside)}")

    def accounts(self) -> list[Account]:
        """Root, if we are root there, and everybody who can log in and has a home; else the one that we are."""
        me = self.host.user()
        if not self.root:
            return [Account(me.name, me.uid, me.home)]
        asked = [name for name in os.environ.get("MCP_CONFINE_USERS", "").split(",") if name]
        found = []
        for line in self.host.check_output("getent passwd").splitlines():
            name, _, uid, _, _, home, shell = line.split(":")
            person = int(uid) >= 1000 and int(uid) != 65534 and shell.rpartition("/")[2] not in NO_LOGIN_SHELLS
            wanted = name in asked if asked else person or uid == "0"
            if wanted and self.host.run("test -d %s", home).rc == 0:
                found.append(Account(name, int(uid), home))
        return found

    def servers(self, user: Account) -> list[Server]:
        """What the user's client files say, read as that user."""
        places = [(client, place) for client in CLIENTS for place in client.places
                  if place.scope == "user" and place.format != "opaque" and not place.fixed]
        script = "; ".join(
            f"for file in {_pattern(place, user.home)}; do test -f \"$file\" && echo {number} \"$file\"; done"
            for number, (_, place) in enumerate(places))
        found, seen = [], set()
        for line in self.run(user, script).stdout.splitlines():
            number, path = line.split(" ", 1)
            if path not in seen:
                seen.add(path)
                found += self._read(user, *places[int(number)], path)
        return found

    def _read(self, user: Account, client: Client, place: Place, path: str) -> list[Server]:
        data = self.run(user, f"cat {shlex.quote(path)}").stdout_bytes
        try:
            sight = edit.editor(place.format).read(data, place.keys)
        except DocumentError as problem:
            return [Server(user, client.name, path, "", "unreadable", str(problem))]
        stem = path.rpartition("/")[2].rpartition(".")[0]
        around = Surroundings(known=frozenset([wrapper_path(self)]), home=user.home)
        return [Server(user, client.name, path, entry.server, *decide(entry, client, place, around)[:2])
                for entry in entries(sight, client, stem)]


def _pattern(place: Place, home: str) -> str:
    path = place.path
    if path.startswith("$"):
        name, slash, rest = path[1:].partition("/")
        path = FOLDERS[name] + slash + rest
    return "*".join(shlex.quote(part) if part else "" for part in path.replace("~", home, 1).split("*"))


def wrapper_path(target: Target) -> str:
    """The system's wrapper; without root the user's own where there is no other."""
    if target.root or target.host.run("test -e %s", WRAPPER).rc == 0:
        return WRAPPER
    return f"{target.host.user().home}/.local/bin/mcp-confine"


@pytest.fixture
def target(host) -> Target:
    return Target(host)


@pytest.fixture
def wrapper(target) -> str:
    return wrapper_path(target)


@pytest.fixture
def canary(target):
    """For each user a file in the home that no policy grants; gone afterwards, with what confinement left for it."""
    name = f".mcp-confine-canary-{uuid.uuid4().hex}"
    people = target.accounts()
    for user in people:
        assert target.run(user, f"echo alive > {name}").rc == 0, f"{user.name} cannot write to the own home"
    yield name
    for user in people:
        target.run(user, f"rm -rf {name} {name}.new .local/state/mcp-confine/servers/{name}")
