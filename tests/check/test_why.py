"""Why a server does not work: the path that was denied and what grants it, and nothing else of what it said."""
from __future__ import annotations

import os

import pytest

from probe.check import denial, trace

DETAIL = "ended before it answered initialize, exit 1"


@pytest.mark.parametrize("words", [
    "Error: EACCES: permission denied, open '/srv/data/x.json'",
    "PermissionError: [Errno 13] Permission denied: '/srv/data/x.json'",
    "sh: 1: cannot create /srv/data/x.json: Permission denied",
    "cat: /srv/data/x.json: Permission denied",
    "error: failed to open file `/srv/data/x.json`: Permission denied",
    "npm error EXDEV: cross-device link not permitted, rename '/srv/data/x.json'",
])
def test_the_denied_path_is_found_in_what_runtimes_say(words):
    said = denial.explain(DETAIL, f"token=SECRET\n{words}\nmore SECRET\n", 1)
    assert "/srv/data/x.json" in said and "`--ro /srv/data/x.json`" in said and "SECRET" not in said


def test_the_wrappers_own_refusal_is_passed_on():
    said = denial.explain("exit 125", "mcp-confine: /x: writing there would let the server change ~/.ssh\n", 125)
    assert said == "refused by the wrapper: /x: writing there would let the server change ~/.ssh"


def test_without_a_path_only_the_handshake_is_told():
    assert denial.explain(DETAIL, "TypeError: SECRET is not a function", 1) == DETAIL


def test_traced_lines_become_grants(tmp_path):
    there = tmp_path / "there"
    there.write_text("")
    lines = [
        f'12 openat(AT_FDCWD, "{there}", O_RDONLY|O_CLOEXEC) = -1 EACCES (Permission denied)\n',
        f'12 openat(AT_FDCWD, "{there}", O_RDWR) = -1 EACCES (Permission denied)\n',
        f'12 mkdir("{tmp_path}/new/deep", 0777) = -1 EACCES (Permission denied)\n',
        '12 connect(3, {sa_family=AF_UNIX, sun_path="/run/x.sock"}, 110) = -1 EACCES (Permission denied)\n',
        "12 connect(3, {sa_family=AF_INET, sin_port=htons(8443)}, 16) = -1 EACCES (Permission denied)\n",
        "12 bind(3, {sa_family=AF_INET6, sin6_port=htons(80)}, 28) = -1 EACCES (Permission denied)\n",
        "12 socket(AF_UNIX, SOCK_STREAM, 0) = -1 EACCES (Permission denied)\n",
        f'12 openat(AT_FDCWD, "{there}", O_RDONLY|O_CLOEXEC) = -1 EACCES (Permission denied)\n',
        '12 openat(AT_FDCWD, "/nowhere", O_RDONLY) = -1 ENOENT (No such file or directory)\n',
        "garbage\n",
    ]
    assert [row.grant for row in trace.denials(lines)] == [
        f"--ro {there}", f"--rw {there}", f"--rw {tmp_path}/new", "--unix /run/x.sock", "--connect 8443", "--bind 80",
        "--unix PATH"]


def test_a_confined_command_is_traced_for_real(wrapper, person):
    secret = person.file("secret.txt", "x")
    found, status = trace.trace([wrapper, "--name", "traced", "--", "cat", secret],
                                {**os.environ, "HOME": person.home}, 20)
    assert status == 1
    assert {"call": "openat", "target": secret, "errno": "EACCES", "grant": f"--ro {secret}"} in found


def test_a_server_that_waits_for_its_client_is_ended_when_the_time_is_up(wrapper, person):
    found, status = trace.trace([wrapper, "--name", "traced", "--", "sleep", "300"],
                                {**os.environ, "HOME": person.home}, 2)
    assert status is None and isinstance(found, list)
