"""A host on which MCP servers are confined: the wrapper is root's, it denies, and every entry starts through it."""
from __future__ import annotations

import json
import re


def test_the_wrapper_is_there_and_only_root_can_change_it(target, wrapper):
    script = target.host.file(wrapper)
    assert script.exists, f"{wrapper} is missing; playbooks/enable-landlock.yml puts it there"
    assert script.is_file and not script.is_symlink
    folder = re.search(r"'(/[^']*/lib/mcp-confine/[0-9a-f]+)'", script.content_string)[1]
    trusted = "! -user root" if wrapper.startswith("/usr/") else f"! -user root ! -user {target.host.user().name}"
    loose = target.host.check_output(f"find {wrapper} {folder} '(' -perm -020 -o -perm -002 -o {trusted} ')'")
    assert loose == "", f"others could change {loose}"


def test_the_wrapper_passes_its_own_proof_for_every_user(target, wrapper):
    for user in target.accounts():
        done = target.run(user, f"{wrapper} --self-test --json")
        assert done.rc == 0, f"{user.name}: {done.stderr.strip()}"
        assert json.loads(done.stdout)["passed"] is True, user.name


def test_a_file_outside_the_policy_can_be_read_without_the_wrapper_and_not_with_it(target, wrapper, canary):
    for user in target.accounts():
        path = f"{user.home}/{canary}"
        assert target.run(user, f"cat {path}").stdout == "alive\n"
        inside = f"{wrapper} --name {canary} --"
        assert "NAME" in target.run(user, f"{inside} cat /etc/os-release").stdout, "the wrapper lets nothing work"
        denied = target.run(user, f"{inside} cat {path}")
        assert denied.rc != 0 and denied.stdout == "", f"{user.name} could read a file that nothing grants"
        assert "ermission denied" in denied.stderr


def test_a_file_outside_the_policy_can_be_written_without_the_wrapper_and_not_with_it(target, wrapper, canary):
    for user in target.accounts():
        path = f"{user.home}/{canary}"
        inside = f"{wrapper} --name {canary} -- /bin/sh -c"
        assert target.run(user, f"/bin/sh -c 'echo more >> {path} && touch {path}.new && rm {path}.new'").rc == 0
        assert target.run(user, f"{inside} 'echo more >> \"$TMPDIR/x\"'").rc == 0, "the wrapper lets nothing work"
        for act in (f"echo more >> {path}", f": > {path}", f"touch {path}.new", f"rm {path}", f"mv {path} {path}.new"):
            assert target.run(user, f"{inside} '{act}'").rc != 0, f"{user.name}: {act.split()[0]} was not denied"
        assert target.run(user, f"cat {path}").stdout == "alive\nmore\n"


def test_every_server_of_every_user_starts_through_the_wrapper(target):
    servers = [server for user in target.accounts() for server in target.servers(user)]
    loose = [f"{server.user.name} {server.client}:{server.name} in {server.file}: {server.state} {server.reason}"
             for server in servers if server.state in ("unconfined", "unreadable")]
    assert not loose, "\n".join(loose)
