"""Docker command lines, judged one argument at a time, without a word of what they hold."""
from __future__ import annotations

import pytest

from probe.verdict.docker_arguments import KINDS, judge_arguments

HOME = "/home/ada"


def kinds(*argv: str) -> list[tuple[str, str]]:
    return [
        (row["flag"], row["kind"])
        for row in judge_arguments(["docker", "run", *argv, "image", "-v", "/after:/image"], HOME)
    ]


@pytest.mark.parametrize(
    "source, kind",
    [
        ("/home/ada/work", None),
        ("/home/ada", None),
        ("/home/ada/work/.git", None),
        ("/home/ada/.config/x", "hidden"),
        ("/home/ada/../bob/x", "other_home"),
        ("/home/ada/work/../.ssh", "hidden"),
        ("/home/adam/x", "other_home"),
        ("/root/x", "other_home"),
        ("/opt/x", "outside_home"),
        ("/srv", "outside_home"),
        ("/", "outside_home"),
        ("/mnt/c", "outside_home"),
        ("/tmp", "tmp"),
        ("/tmp/x", "tmp"),
        ("/var/tmp/x", "tmp"),
        ("/tmpfiles", "outside_home"),
        ("~/x", "home_variable"),
        ("$HOME/x", "home_variable"),
        ("${HOME}/x", "home_variable"),
        ("${env:HOME}/x", "home_variable"),
        ("./x", "relative"),
        ("../x", "relative"),
        ("a/b", "relative"),
        ("volume", None),
        ("${workspaceFolder}/x", None),
        ("/var/run/docker.sock", None),
    ],
)
def test_a_bind_by_its_source(source, kind):
    wanted = [] if kind is None else [("-v", kind)]
    assert kinds("-v", f"{source}:/data:ro") == wanted


@pytest.mark.parametrize(
    "argv",
    [
        ("-v", "/opt/x:/y"),
        ("-v/opt/x:/y",),
        ("-v=/opt/x:/y",),
        ("--volume", "/opt/x:/y"),
        ("--volume=/opt/x:/y",),
        ("--mount", "type=bind,source=/opt/x,target=/y"),
        ("--mount=type=bind,src=/opt/x,dst=/y",),
        ("--env-file", "/opt/x"),
        ("-it", "-v", "/opt/x:/y"),
        ("--name", "-v", "-v", "/opt/x:/y"),
        ("-e", "--init", "--rm", "-v", "/opt/x:/y"),
        ("--network", "host", "-i", "--volume=/opt/x:/y"),
        ("-p", "80:80", "-m", "1g", "-v", "/opt/x:/y"),
    ],
)
def test_every_way_to_write_it(argv):
    found = kinds(*argv)
    assert [kind for _, kind in found] == ["outside_home"], found


@pytest.mark.parametrize("argv", [
    ("--mount", "type=volume,source=/opt/x,target=/y"), ("--mount", "type=tmpfs,target=/y"), ("-v", "/anonymous"),
    ("-e", "X=/opt/x:/y"), ("--env", "-v"), ("--label", "no-new-privileges"), ("--security-opt", "seccomp=/opt/x.json"),
    ("--security-opt", "no-new-privileges:false"), ("--init=false",), ("--name=--init",), ("--entrypoint", "--init")])
def test_what_breaks_nothing(argv):
    assert kinds(*argv) == []


@pytest.mark.parametrize("argv", [("--security-opt", "no-new-privileges"), ("--security-opt=no-new-privileges:true",),
                                  ("--security-opt", "no-new-privileges=true"), ("--init",), ("--init=true",)])
def test_what_snaps_daemon_cannot_start(argv):
    found = judge_arguments(["docker", "run", *argv, "image"], HOME)
    assert [row["code"] for row in found] == ["DOCKER_SNAP_NO_NEW_PRIVILEGES"]


@pytest.mark.parametrize(
    "front",
    [
        ["docker"],
        ["/snap/bin/docker"],
        ["docker", "--context", "x"],
        ["docker", "container"],
        ["env", "A=b", "docker"],
        ["docker", "-H", "unix:///x", "--debug"],
    ],
)
def test_docker_is_found_wherever_it_stands(front):
    assert len(judge_arguments([*front, "run", "-v", "/opt:/x", "image"], HOME)) == 1


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["npx", "server"],
        ["docker"],
        ["docker", "ps", "-v"],
        ["docker", "run"],
        ["docker", "run", "-v"],
        ["docker", "run", "--"],
        ["podman", "run", "-v", "/opt:/x", "i"],
        ["docker", "-H"],
        ["", "\0"],
    ],
)
def test_no_container_no_findings(argv):
    assert judge_arguments(argv, HOME) == []


def test_words_after_the_image_belong_to_the_server():
    assert judge_arguments(["docker", "run", "-i", "image", "-v", "/opt:/x", "--init"], HOME) == []


def test_nothing_of_the_line_is_repeated_but_the_flag():
    secret = "hunter2"
    line = [
        "docker",
        "run",
        "-e",
        f"T={secret}",
        f"--env-file=/opt/{secret}",
        "-v",
        f"/opt/{secret}:/{secret}",
        "--mount",
        f"type=bind,src=/srv/{secret},dst=/x",
        f"image:{secret}",
    ]
    found = judge_arguments(line, HOME)
    assert len(found) == 3 and secret not in str(found)
    assert all(row["says"] in KINDS.values() and line[row["position"]].startswith(row["flag"]) for row in found)
