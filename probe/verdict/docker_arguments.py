"""Arguments of `docker run` that snap's Docker breaks on, one by one. Names flags and kinds of path, never values."""
from __future__ import annotations

import posixpath
import re
from typing import Any, Iterator

# Options of `docker run` that take no value; every other one takes the next word when it has no "=" in it.
BARE = frozenset(
    [
        "-i",
        "--interactive",
        "-t",
        "--tty",
        "--rm",
        "--init",
        "--privileged",
        "-d",
        "--detach",
        "--read-only",
        "-P",
        "--publish-all",
        "--no-healthcheck",
        "--oom-kill-disable",
        "--sig-proxy",
        "--disable-content-trust",
        "-q",
        "--quiet",
        "--use-api-socket",
        "-it",
        "-ti",
        "-di",
        "-dt",
        "-dit",
        "-itd",
        "--help",
    ]
)
GLOBAL_WITH_VALUE = (
    "-H",
    "--host",
    "-c",
    "--context",
    "--config",
    "-l",
    "--log-level",
    "--tlscacert",
    "--tlscert",
    "--tlskey",
)
RUNNING = ("run", "create", "exec")
BINDS = ("-v", "--volume", "--mount")
FILES = ("--env-file", "--cidfile", "--label-file", "--tmpfs-file")
KINDS = {
    "outside_home": "a path outside of the home folder",
    "hidden": "a hidden folder of the home folder",
    "tmp": "/tmp, of which snap has its own",
    "home_variable": "~ or $HOME, which is another folder for snap's client",
    "relative": "a path relative to a working directory that snap may not see",
    "other_home": "another user's home folder",
    "init": "an init process in the container, which cannot be started under no-new-privileges",
    "no_new_privileges": "no-new-privileges, under which AppArmor refuses to start the container's program",
    "host_file": "a file of the host that snap does not show",
}


def judge_arguments(argv: list[str], home: str) -> list[dict[str, Any]]:
    """What in a docker command line snap's Docker does not do: [{"flag", "position", "kind", "code", "says"}].

    `argv` begins with docker's name or with what starts it. Pure; holds no value of the line. `--init` alone is named
    too, since it fails as soon as the daemon or the container adds no-new-privileges; its code is the same.
    """
    found: list[dict[str, Any]] = []

    def add(flag: str, position: int, kind: str) -> None:
        code = "DOCKER_SNAP_NO_NEW_PRIVILEGES" if kind in ("init", "no_new_privileges") else "DOCKER_SNAP_PATHS"
        found.append({"flag": flag, "position": position, "kind": kind, "code": code, "says": KINDS[kind]})

    for flag, position, value in options(argv):
        if flag == "--init" and value.lower() not in ("false", "0"):
            add(flag, position, "init")
        elif flag == "--security-opt" and _no_new_privileges(value):
            add(flag, position, "no_new_privileges")
        elif flag in BINDS:
            kind = path_kind(_source(flag, value), home)
            if kind:
                add(flag, position, kind)
        elif flag in FILES:
            kind = path_kind(value, home, bare_is_path=True)
            if kind:
                add(flag, position, kind)
    return found


def _begin(argv: list[str]) -> int | None:
    """The position after `run`; None when this starts no container with docker."""
    start = next(
        (index for index, word in enumerate(argv) if posixpath.basename(word) in ("docker", "docker.exe")), None
    )
    if start is None:
        return None
    index = start + 1
    while index < len(argv):
        word = argv[index]
        if word in GLOBAL_WITH_VALUE:
            index += 2
        elif word.startswith("-") or word == "container":
            index += 1
        else:
            return index + 1 if word in RUNNING else None
    return None


def options(argv: list[str]) -> Iterator[tuple[str, int, str]]:
    """(flag, position of the word, value) of each option of `docker run`, up to the image."""
    begin = _begin(argv)
    if begin is None:
        return
    index = begin
    while index < len(argv):
        word = argv[index]
        if word == "--" or not word.startswith("-") or word == "-":
            return
        flag, equals, value = word.partition("=")
        if equals:
            yield flag, index, value
        elif word in BARE or (not word.startswith("--") and set(word[1:]) <= set("itdPq")):
            yield word, index, ""
        elif not word.startswith("--") and len(word) > 2:
            yield word[:2], index, word[2:]  # -v/a:/b
        else:
            yield word, index, argv[index + 1] if index + 1 < len(argv) else ""
            index += 1
        index += 1


def _no_new_privileges(value: str) -> bool:
    name, _, said = value.replace(":", "=", 1).partition("=")
    return name == "no-new-privileges" and said.lower() in ("", "true", "1")


def _source(flag: str, value: str) -> str:
    """The host's side of a bind, "" for volumes and tmpfs."""
    if flag == "--mount":
        fields = dict(field.strip().partition("=")[::2] for field in value.split(","))
        return fields.get("source", fields.get("src", "")) if fields.get("type", "volume") == "bind" else ""
    source = re.match(r"((?:\$\{[^}]*\}|[^:])+):", value)  # a variable may have a colon of its own
    return source.group(1) if source else ""


def path_kind(path: str, home: str, bare_is_path: bool = False) -> str | None:
    """The key of `KINDS` for a path that snap's Docker does not show as it is; None for one that it does."""
    if not path or path == "-":
        return None
    if path.startswith(("~", "$HOME", "${HOME}", "${env:HOME}")):
        return "home_variable"
    if path.startswith("$"):
        return None  # only the client knows what it stands for
    if not path.startswith("/"):
        # A word without a slash is the name of a volume.
        return "relative" if bare_is_path or path.startswith(".") or "/" in path else None
    path = posixpath.normpath(path)
    if path == "/tmp" or path.startswith(("/tmp/", "/var/tmp/")) or path == "/var/tmp":
        return "tmp"
    house = posixpath.normpath(home)
    if path == house or path.startswith(house + "/"):
        first = path[len(house):].strip("/").split("/")[0]
        return "hidden" if first.startswith(".") else None
    if path.startswith(("/home/", "/root/")) or path == "/root":
        return "other_home"
    if path in ("/var/run/docker.sock", "/run/docker.sock") or path.startswith(("/proc", "/sys", "/dev")):
        return None
    return "outside_home"
