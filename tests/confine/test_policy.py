"""The language of options and policy files: what it takes, and how it says what it does not take."""
from __future__ import annotations

import os

import pytest

from probe.confine import policy
from probe.confine.policy import Policy, Refused

HOME = "/home/somebody"


def taken(*lines: str) -> Policy:
    made = Policy()
    for option, value, origin in policy.parse_file("\n".join(lines), "/etc/p"):
        made.take(option, value, origin, HOME)
    return made


def test_a_policy_file_is_options_one_a_line():
    made = taken("# a comment", "", "--ro /data/with space", "  --rw ~/out  ", "--connect=443", "--limit nofile=4k",
                 "--setenv GREETING=hello world", "--env TOKEN", "--home real")
    assert made.read == [("/data/with space", "/etc/p:3")]
    assert made.write == [(f"{HOME}/out", "/etc/p:4")]
    assert made.connect == [(443, "tcp")] and made.network == "ports"
    assert made.limits == {"core": 0, "nofile": 4096}
    assert made.setenv == {"GREETING": "hello world"} and made.env == ["TOKEN"]


@pytest.mark.parametrize(("line", "complaint"), [
    ("--name other", "not an option that a policy file can hold"),
    ("--policy other", "not an option that a policy file can hold"),
    ("--user root", "not an option that a policy file can hold"),
    ("--frobnicate 1", "not an option that a policy file can hold"),
    ("rw /data", "not an option that a policy file can hold"),
    ("--rw", "--rw needs a value: PATH"),
    ("--rw data", "must be absolute or begin with ~/"),
    ("--net some", "--net takes any or none, not 'some'"),
    ("--connect https", "takes PORT or PORT/udp"),
    ("--connect 70000", "takes PORT or PORT/udp"),
    ("--bind 80/sctp", "takes PORT or PORT/udp"),
    ("--limit speed=1", "--limit knows cpu"),
    ("--limit nofile=lots", "takes a number"),
    ("--setenv NAME", "needs NAME=VALUE"),
    ("--setenv =x", "takes the name of a variable"),
    ("--env A=b", "takes the name of a variable"),
    ("--max-abi zero", "takes a number from 1"),
])
def test_a_bad_line_is_named_with_what_would_be_right(line, complaint):
    with pytest.raises(Refused) as refusal:
        taken("# first", line)
    assert "/etc/p:2" in str(refusal.value) and complaint in str(refusal.value)
    with pytest.raises(Refused):
        policy.check_text(f"# first\n{line}\n", "/etc/p")


def test_the_last_word_on_the_network_counts():
    assert taken("--net none", "--connect 5432").network == "ports"
    assert taken("--connect 5432", "--net none").network == "none"
    assert taken("--connect 5432", "--net none").connect == []
    assert taken("--connect 5432", "--net any").network == "any"


def test_the_command_is_all_that_follows_the_bare_dashes():
    options, actions, command = policy.parse_arguments(
        ["--name", "x", "--ro=/a=b", "--show", "--", "npx", "-y", "--", "--show"])
    assert options == [("--name", "x"), ("--ro", "/a=b")] and actions == ["--show"]
    assert command == ["npx", "-y", "--", "--show"]
    assert policy.parse_arguments(["--show"])[2] is None


@pytest.mark.parametrize("words", [["npx", "-y"], ["--nam", "x", "--", "true"], ["--name"], ["--name", "--", "true"]])
def test_words_that_are_no_options_are_refused_with_the_way_to_say_it(words):
    with pytest.raises(Refused, match=r"bare --|needs a value"):
        policy.parse_arguments(words)


def test_server_names_become_one_folder_each():
    names = ["files", "@scope/pkg", "@scope_pkg", "a b", "a_b", "..", ".", "-x", "", "ü", "x" * 200, "x" * 201,
             "a/../b"]
    folders = [policy.folder_name(name) for name in names]
    assert len(set(folders)) == len(names)
    for folder in folders:
        assert folder not in ("", ".", "..") and "/" not in folder and folder[0] not in ".-" and len(folder) < 80
        assert folder.isascii() and folder.isprintable() and " " not in folder
    assert policy.folder_name("files") == "files"


def test_a_policy_that_others_can_change_is_refused(tmp_path):
    tmp_path.chmod(0o755)
    path = tmp_path / "server"
    path.write_text("--ro /data\n")
    path.chmod(0o644)
    assert policy.read_file(str(path)) == "--ro /data\n"
    path.chmod(0o646)
    with pytest.raises(Refused, match=r"writable by others.*chmod go-w"):
        policy.read_file(str(path))
    path.chmod(0o644)
    tmp_path.chmod(0o777)
    with pytest.raises(Refused, match="writable by others"):
        policy.read_file(str(path))
    tmp_path.chmod(0o755)
    link = tmp_path / "linked"
    link.symlink_to(path)
    path.chmod(0o666)
    with pytest.raises(Refused, match=str(path)):
        policy.read_file(str(link))
    path.chmod(0o644)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(Refused, match="not UTF-8"):
        policy.read_file(str(path))
    with pytest.raises(Refused, match="cannot read the policy"):
        policy.read_file(str(tmp_path / "missing"))


def test_the_administrators_policy_comes_before_the_users_and_a_named_one_must_exist(tmp_path):
    home = tmp_path / "home"
    folder = home / ".config/mcp-confine/policies"
    folder.mkdir(parents=True)
    made = Policy()
    made.name = "server"
    assert policy.find_file(made, str(home)) == ""
    (folder / "server").write_text("")
    assert policy.find_file(made, str(home)) == str(folder / "server")
    made.file = "missing"
    with pytest.raises(Refused, match="no policy 'missing' in /etc/mcp-confine/policies or"):
        policy.find_file(made, str(home))
    made.file = "./local"
    assert policy.find_file(made, str(home)) == f"{os.getcwd()}/./local"


def test_help_names_every_option():
    for option in [*policy.OPTIONS, *policy.ACTIONS]:
        assert option in policy.help_text() or option == "--help"
