"""Confining servers and giving them back as a person meets it: people, clients and other tools edit meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from probe.clients import act

WRAPPER = "/usr/local/bin/mcp-confine"
CONFIG = """{
  // my servers
  "mcpServers": {
    "fs": {
      "command": "npx", // the launcher
      "args": [
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/srv/data",
      ],
      "env": { "API_TOKEN": "s3cr3t-t0k3n" }
    },
    "bare": { "command": "uvx" }
  }
}
"""


@pytest.fixture
def cursor(home):
    return home.put(".cursor/mcp.json", CONFIG)


def test_a_wrapped_entry_looks_like_its_owner_wrote_it(home, cursor):
    home.confine()
    assert (
        cursor.read_text()
        == """{
  // my servers
  "mcpServers": {
    "fs": {
      "command": "/usr/local/bin/mcp-confine", // the launcher
      "args": [
        "--name",
        "fs",
        "--env",
        "API_TOKEN",
        "--",
        "npx",
        "-y",
        "@modelcontextprotocol/server-filesystem",
        "/srv/data",
      ],
      "env": { "API_TOKEN": "s3cr3t-t0k3n" }
    },
    "bare": { "command": "/usr/local/bin/mcp-confine", "args": ["--name", "bare", "--", "uvx"] }
  }
}
"""
    )


def test_a_dry_run_predicts_exactly_and_writes_nothing(home, cursor):
    predicted = home.confine(dry_run=True)
    assert cursor.read_text() == CONFIG and os.listdir(home.path) == [".cursor"]
    assert home.confine() == predicted
    predicted = home.release(dry_run=True)
    assert home.release() == predicted


def test_the_second_run_changes_nothing(home, cursor):
    assert home.confine()["changed"] and not home.confine()["changed"]
    assert home.release()["changed"] and not home.release()["changed"]


def test_giving_back_works_after_a_person_changed_the_rest(home, cursor):
    home.confine()
    text = (
        cursor.read_text().replace('"/srv/data",', '"/srv/data", "/srv/more",').replace("// my servers", "// mine\n  ")
    )
    cursor.write_text(text.replace('"bare": {', '"new": { "command": "node" }, "bare": {'))
    home.release()
    wanted = CONFIG.replace('"/srv/data",', '"/srv/data", "/srv/more",').replace("// my servers", "// mine\n  ")
    assert cursor.read_text() == wanted.replace('"bare": {', '"new": { "command": "node" }, "bare": {')


def test_giving_back_works_after_the_client_wrote_the_whole_file_anew(home):
    file = home.put(
        ".cursor/mcp.json",
        CONFIG.replace("// my servers", "").replace("// the launcher", "").replace('data",', 'data"'),
    )
    before = json.loads(file.read_text())
    home.confine()
    file.write_text(json.dumps(json.loads(file.read_text()), separators=(",", ":"), sort_keys=True))
    answer = home.release()
    assert answer["problems"] == []
    assert json.loads(file.read_text()) == before


def test_flags_that_a_person_added_neither_wrap_it_again_nor_stay_behind(home, cursor):
    home.confine()
    cursor.write_text(
        cursor.read_text().replace('"--name",\n        "fs",', '"--name",\n        "fs",\n        "--rw", "/srv/out",')
    )
    assert not home.confine()["changed"]
    assert home.servers()["fs"]["args_masked"][:4] == ["--name", "fs", "--rw", "***"]
    home.release()
    assert cursor.read_text() == CONFIG


def test_a_command_changed_behind_the_wrapper_is_a_conflict_with_both_sides_named(home, cursor):
    home.confine()
    changed = cursor.read_text().replace('"npx"', '"pnpx"')
    cursor.write_text(changed)
    answer = home.release(servers=["fs"])
    assert not answer["changed"] and cursor.read_text() == changed
    [problem] = answer["problems"]
    assert "fs" in problem["reason"] and "pnpx" in problem["reason"] and " npx" in problem["reason"]


def test_without_what_was_remembered_the_meaning_comes_back_and_doubt_is_said(home, cursor):
    home.confine()
    shutil.rmtree(f"{home.path}/.local")
    answer = home.release()
    assert cursor.read_text() == CONFIG.replace('"command": "uvx" }', '"command": "uvx", "args": [] }')
    [notice] = [notice for notice in answer["notices"] if "remembered" in notice]
    assert ": bare:" in notice


def test_a_wrapper_that_moved_is_followed_and_the_old_place_still_counts(home, cursor):
    old = "/opt/old/bin/mcp-confine"
    home.set_state("confined", wrapper=old)
    assert home.servers()["fs"]["state"] == "confined"
    answer = home.confine()
    assert answer["changed"] and old not in cursor.read_text() and cursor.read_text().count(WRAPPER) == 2
    home.release()
    assert cursor.read_text() == CONFIG


def test_a_stranger_of_the_wrappers_name_is_not_called_confined(home):
    file = home.put(
        ".cursor/mcp.json",
        json.dumps(
            {"mcpServers": {"x": {"command": "/tmp/evil/mcp-confine", "args": ["--name", "x", "--", "npx", "-y"]}}}
        ),
    )
    row = home.servers()["x"]
    assert row["state"] == "unconfined" and "not put there by us" in row["reason"]
    home.confine()
    assert json.loads(file.read_text())["mcpServers"]["x"] == {
        "command": WRAPPER,
        "args": ["--name", "x", "--", "npx", "-y"],
    }


def test_the_wrappers_path_among_the_arguments_of_something_else_is_no_wrapping(home):
    home.put(
        ".cursor/mcp.json",
        json.dumps(
            {"mcpServers": {"x": {"command": "node", "args": ["evil.js", WRAPPER, "--name", "x", "--", "npx"]}}}
        ),
    )
    assert home.servers()["x"]["state"] == "unconfined"


def test_a_command_that_is_the_wrapper_without_a_bare_separator_is_not_confined(home):
    home.put(
        ".cursor/mcp.json", json.dumps({"mcpServers": {"x": {"command": WRAPPER, "args": ["--name", "x", "npx"]}}})
    )
    assert home.servers()["x"]["state"] == "unconfined"


def test_inside_another_tools_wrapper_it_is_left_alone_and_can_be_given_back(home):
    inner = {"command": "npx", "args": ["-y", "pkg"]}
    outer = {"command": "/usr/bin/pipelock", "args": ["mcp", "--", WRAPPER, "--name", "x", "--", "npx", "-y", "pkg"]}
    file = home.put(".cursor/mcp.json", json.dumps({"mcpServers": {"x": outer}}))
    row = home.servers()["x"]
    assert row["state"] == "never_wrapped" and "pipelock itself is not confined" in row["reason"]
    assert not home.confine()["changed"]
    home.release()
    assert json.loads(file.read_text())["mcpServers"]["x"]["args"] == ["mcp", "--", inner["command"], *inner["args"]]


@pytest.mark.parametrize(
    "name", ["--", "-x", "a/../b", "x" * 5000, "new\nline", "nul\x00", "\ud800", "$SECRET", "${env:X}", "\u202e", ""]
)
def test_hostile_names_stay_one_argument(home, name):
    from probe.confine.policy import parse_arguments

    file = home.put(".cursor/mcp.json", json.dumps({"mcpServers": {name: {"command": "npx", "args": ["--", "-y"]}}}))
    before = file.read_bytes()
    answer = home.confine()
    [row] = answer["servers"]
    if name == "":
        assert row["state"] == "never_wrapped"
        return
    args = json.loads(file.read_text())["mcpServers"][name]["args"]
    options, actions, command = parse_arguments(args)
    [(option, value)] = options
    assert (option, actions, command) == ("--name", [], ["npx", "--", "-y"])
    assert 0 < len(value.encode()) <= 255 and "$" not in value
    [row] = home.servers().values()
    assert row["state"] == "confined" and row["server"].encode()
    assert not home.confine()["changed"]
    home.release()
    assert file.read_bytes() == before


def test_a_file_name_that_is_not_utf8_can_be_told(home):
    folder = Path(home.path, ".kiro/agents")
    folder.mkdir(parents=True)
    file = os.path.join(os.fsencode(folder), b"\xff.json")
    with open(file, "w") as stream:
        stream.write('{"mcpServers": {"a": {"command": "npx"}}}')
    answer = home.confine()
    assert answer["changed"] and json.dumps(answer, ensure_ascii=False).encode()


def test_two_long_names_stay_two(home):
    from probe.clients.decide import argument_name

    assert argument_name("x" * 500 + "a") != argument_name("x" * 500 + "b")


def test_only_the_servers_and_clients_that_were_named_change(home, cursor):
    other = home.put(".claude.json", json.dumps({"mcpServers": {"fs": {"command": "npx"}}}))
    answer = home.confine(servers=["cursor:fs"])
    assert [(row["client"], row["server"]) for row in answer["servers"] if row["changed"]] == [("cursor", "fs")]
    home.confine(clients=["claude-code"])
    assert WRAPPER in other.read_text() and '"uvx" }' in cursor.read_text()
    with pytest.raises(ValueError, match="no client named nonsense"):
        home.confine(clients=["nonsense"])


def test_two_servers_of_one_name_in_a_list_are_left_alone(home):
    server = {"name": "twin", "command": "npx"}
    file = home.put(".mcpproxy/mcp_config.json", json.dumps({"mcpServers": [server, server, {**server, "name": "x"}]}))
    rows = home.confine()["servers"]
    assert [row["state"] for row in rows] == ["never_wrapped", "never_wrapped", "confined"]
    assert "has its name" in rows[0]["reason"] and file.read_text().count(WRAPPER) == 1


def test_a_home_without_client_files_stays_empty(home):
    assert home.confine() == {"changed": False, "files": [], "servers": [], "problems": [], "notices": []}
    assert os.listdir(home.path) == []


def test_a_name_that_no_server_has_is_said(home, cursor):
    notices = home.confine(servers=["fs", "cursor:bare", "nobody"])["notices"]
    assert notices[-1] == "no server named nobody in these files"


def test_a_record_of_an_entry_that_somebody_gave_back_by_hand_is_no_conflict_later(home, cursor):
    home.confine()
    cursor.write_text(CONFIG.replace('"npx"', '"pnpx"'))
    assert not home.release()["changed"]
    assert home.confine()["changed"]
    assert home.release()["problems"] == []
    assert cursor.read_text() == CONFIG.replace('"npx"', '"pnpx"')


def test_a_confined_server_whose_wrapper_is_gone_is_said_to_be_unable_to_start(home, cursor):
    home.set_state("confined", wrapper="/opt/gone/bin/mcp-confine")
    row = home.servers()["fs"]
    assert row["state"] == "confined" and "/opt/gone/bin/mcp-confine is not there" in row["reason"]


def test_a_server_that_failed_its_proof_is_left_alone_until_something_changes(home, cursor):
    home.confine()
    refused = [
        {"client": "cursor", "file": str(cursor), "server": "fs", "reason": "the handshake failed: /srv was denied"}
    ]
    home.release(servers=["cursor:fs"], refused=refused)
    answer = home.confine()
    assert not answer["changed"]
    [row] = [row for row in answer["servers"] if row["server"] == "fs"]
    assert (row["state"], row["reason"]) == ("refused", "the handshake failed: /srv was denied")
    home.put(".config/mcp-confine/policies/fs", "--ro /srv\n")
    assert home.confine()["changed"]
    assert home.servers()["fs"]["state"] == "confined"


def test_files_under_version_control_are_left_alone_unless_asked(home):
    file = home.put("project/.mcp.json", json.dumps({"mcpServers": {"shared": {"command": "npx"}}}))
    project = str(file.parent)
    git = ["git", "-C", project, "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    assert home.confine(projects=[project], dry_run=True)["changed"], "not tracked yet"
    subprocess.run([*git, "add", ".mcp.json"], check=True)
    answer = home.confine(projects=[project])
    assert not answer["changed"] and "version control" in answer["servers"][0]["reason"]
    assert act.servers(home.path, [project])[0]["state"] == "never_wrapped"
    assert home.confine(projects=[project], include_tracked=True)["changed"]
    assert act.servers(home.path, [project])[0]["state"] == "confined"


def test_one_broken_file_does_not_stop_the_others(home, cursor):
    broken = home.put(".claude.json", '{"mcpServers": {"a": {"command": "npx"}')
    answer = home.confine()
    assert answer["changed"] and "confined" in {row["state"] for row in answer["servers"]}
    [problem] = answer["problems"]
    assert problem["path"] == str(broken) and "line:column 1:" in problem["reason"]
    assert broken.read_text() == '{"mcpServers": {"a": {"command": "npx"}'
    assert home.servers()[""]["state"] == "unreadable"


def test_without_the_editor_of_a_format_the_file_is_reported_and_the_rest_goes_on(home, cursor, monkeypatch):
    import sys

    home.put(".codex/config.toml", '[mcp_servers.a]\ncommand = "npx"\n')
    home.put(".config/goose/config.yaml", "extensions: {}\n")
    for name in ("tomlkit", "yaml"):
        monkeypatch.setitem(sys.modules, name, None)
    answer = home.confine()
    assert answer["changed"]
    assert sorted(problem["reason"] for problem in answer["problems"]) == [
        "reading TOML needs tomlkit (package python3-tomlkit)",
        "reading YAML needs PyYAML (package python3-yaml)",
    ]


def test_the_user_is_told_who_asks_for_approval_again(home, cursor):
    home.put(".claude.json", json.dumps({"mcpServers": {"a": {"command": "npx"}}}))
    notices = home.confine()["notices"]
    assert [notice for notice in notices if "approval" in notice] == [
        "Cursor asks again for approval of the servers that changed"
    ]
    assert any("Claude Code rewrites" in notice for notice in notices)
    assert home.confine()["notices"] == []


def test_what_is_remembered_is_private_and_holds_no_value(home, cursor):
    home.confine()
    folder = Path(home.path, ".local/state/mcp-confine/edits")
    assert folder.stat().st_mode & 0o777 == 0o700
    for file in folder.iterdir():
        assert file.stat().st_mode & 0o777 == 0o600
        for value in ("s3cr3t", "/srv/data", "server-filesystem", "-y"):
            assert value not in file.read_text()


def test_confined_servers_are_started_as_their_client_would(home, monkeypatch):
    monkeypatch.setenv("WHERE", "/srv")
    project = str(
        home.put(
            "project/.mcp.json",
            json.dumps(
                {
                    "mcpServers": {
                        "a": {"command": "${RUNNER:-npx}", "args": ["${WHERE}/x"], "env": {"K": "${WHERE}"}},
                        "b": {"command": "npx", "args": ["${NOT_SET}"]},
                    }
                }
            ),
        ).parent
    )
    home.confine(projects=[project])
    starts = {start["server"]: start for start in act.launches(home.path, [project])}
    assert starts["a"]["argv"] == [WRAPPER, "--name", "a", "--env", "K", "--", "npx", "/srv/x"]
    assert starts["a"]["env"] == {"K": "/srv"} and starts["a"]["cwd"] == project
    assert starts["b"]["argv"] == [] and "NOT_SET" in starts["b"]["problem"]


def test_what_an_env_file_holds_is_there_when_a_server_is_proved_and_nowhere_else(home):
    settings = ("# settings", "", "TOKEN='a b#c'", 'export SAID="x\\ny"', "PLAIN = word # why", "EMPTY=", "no setting",
                "OWN=file")
    project = home.put("project/.env", "\n".join(settings)).parent
    entry = {"command": "npx", "args": [], "envFile": "${workspaceFolder}/.env", "env": {"OWN": "entry"}}
    home.put("project/.vscode/mcp.json", json.dumps({"servers": {"a": entry}}))
    home.confine(projects=[str(project)])
    [start] = act.launches(home.path, [str(project)])
    assert start["env"] == {"TOKEN": "a b#c", "SAID": "x\ny", "PLAIN": "word", "EMPTY": "", "OWN": "entry"}
    assert "TOKEN" not in str(act.servers(home.path, [str(project)]))
    (project / ".env").unlink()
    [start] = act.launches(home.path, [str(project)])
    assert start["argv"] == [] and "envFile cannot be read" in start["problem"]


def test_mcpproxys_own_isolation_goes_off_for_a_confined_server_and_comes_back(home):
    config = json.dumps(
        {
            "docker_isolation": {"enabled": True},
            "mcpServers": [
                {"name": "plain", "protocol": "stdio", "command": "npx", "args": ["-y"], "enabled": True},
                {"name": "tuned", "command": "uvx", "args": [], "isolation": {"image": "python:3"}},
                {"name": "kept", "command": "uvx", "isolation": {"enabled": True}},
                {"name": "off", "command": "uvx", "args": ["x"], "isolation": {"mode": "none"}},
            ],
        },
        indent=2,
    )
    file = home.put(".mcpproxy/mcp_config.json", config)
    home.confine()
    data = {entry["name"]: entry for entry in json.loads(file.read_text())["mcpServers"]}
    assert data["plain"]["command"] == WRAPPER and data["plain"]["isolation"] == {"enabled": False}
    assert data["tuned"]["isolation"] == {"image": "python:3", "enabled": False}
    assert data["kept"]["command"] == "uvx"
    assert "Docker isolation" in home.servers()["kept"]["reason"]
    assert data["off"]["command"] == WRAPPER and data["off"]["isolation"] == {"mode": "none"}
    home.release()
    assert file.read_text() == config


def test_without_mcpproxys_isolation_nothing_but_the_command_changes(home):
    file = home.put(".mcpproxy/mcp_config.json", json.dumps({"mcpServers": [{"name": "x", "command": "npx"}]}))
    home.confine()
    assert "isolation" not in file.read_text()
