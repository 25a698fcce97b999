"""What is never wrapped, and the reason that is given."""

from __future__ import annotations

import json
import os

import pytest

from probe.clients import act, lists
from probe.clients.catalogue import BY_NAME
from probe.clients.decide import Program, Surroundings, decide, programs
from probe.clients.document import KeyPath
from probe.clients.edit_json import read
from probe.clients.entries import entries

HOME = "/home/me"


def decided(entry: dict, client: str = "cursor", **around: object):
    row = BY_NAME[client]
    found = read(json.dumps({"mcpServers": {"x": entry}}).encode(), (KeyPath(("mcpServers",)),))
    [server] = entries(found, row, "")
    return decide(server, row, row.places[0], Surroundings(frozenset(["/w/mcp-confine"]), HOME, **around))


def test_a_plain_server_is_unconfined():
    assert decided({"command": "npx", "args": ["-y", "pkg"]}) == ("unconfined", "", None)


@pytest.mark.parametrize(
    "entry",
    [
        {"url": "https://x"},
        {"type": "http", "url": "https://x"},
        {"type": "sse", "url": "x"},
        {"type": "streamableHttp", "url": "x"},
        {"transport": "sse", "command": "npx"},
        {"type": "streamable-http", "command": "npx", "url": "x"},
    ],
)
def test_remote_servers_have_no_process(entry):
    assert decided(entry).state == "remote"


@pytest.mark.parametrize(
    ("client", "entry"),
    [
        ("windsurf", {"serverUrl": "https://x"}),
        ("gemini-cli", {"httpUrl": "https://x"}),
        ("antigravity", {"serverUrl": "x"}),
        ("cline", {"transport": {"type": "sse", "url": "https://x"}}),
    ],
)
def test_each_clients_own_mark_of_a_remote_server_is_known(client, entry):
    assert decided(entry, client).state == "remote"


@pytest.mark.parametrize(
    ("command", "args", "said"),
    [
        ("docker", ["run", "-i", "mcp/x"], "container"),
        ("/usr/bin/podman", ["run", "x"], "container"),
        ("docker", ["mcp", "gateway", "run"], "container"),
        ("env", ["FOO=1", "docker", "run", "x"], "container"),
        ("bash", ["-lc", "exec docker run -i x"], "container"),
        ("docker run -i x", [], "container"),
        ("sudo", ["npx", "x"], "changes rights"),
        ("sh", ["-c", "A=1 sudo -E npx x"], "changes rights"),
        ("cmd", ["/c", "npx", "x"], "Windows"),
        ("/mnt/c/Program Files/nodejs/node.exe", ["x.js"], "Windows"),
        ("C:\\tools\\x", [], "Windows"),
        ("npx", ["-y", "mcp-remote", "https://x"], "mcp-remote"),
        ("npx", ["-y", "mcp-remote@0.1.2", "https://x"], "mcp-remote"),
        ("", [], "empty"),
    ],
)
def test_never_wrapped_by_command(command, args, said):
    decision = decided({"command": command, "args": args})
    assert decision.state == "never_wrapped" and said in decision.reason


def test_mcp_remote_is_wrapped_when_its_name_is_asked_for():
    assert decided({"command": "npx", "args": ["mcp-remote", "https://x"]}, asked=True).state == "unconfined"


def test_programs_that_gain_rights_cannot_start_in_the_wrapper():
    assert "snap" in decided({"command": "node"}, program=Program("/snap/node/1/bin/node", snap=True)).reason
    assert "setuid" in decided({"command": "x"}, program=Program("/usr/bin/x", setuid=True)).reason


def test_docker_from_snap_is_told_apart_and_its_real_arguments_are_judged_in_memory(home):
    reason = decided({"command": "docker", "args": ["run", "x"]}, program=Program("/snap/bin/docker", snap=True)).reason
    assert "comes from snap" in reason
    server = {"command": "docker", "args": ["run", "-v", "/srv/SECRET:/data", "x"]}
    far, empty = {"type": "http", "url": "https://x.example.com"}, {"command": "x", "args": 1}
    home.put(".claude.json", json.dumps({"mcpServers": {"boxed": server, "far": far, "empty": empty}}))
    asked = []
    rows = act.servers(home.path, [], judge_docker=lambda argv, where: asked.append((argv, where)) or ["judged"])
    assert asked == [(["docker", "run", "-v", "/srv/SECRET:/data", "x"], home.path)]
    assert rows[0]["docker_arguments"] == ["judged"] and "SECRET" not in str(rows)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"command": "npx", "args": "-y"}, "not a list"),
        ({"command": "npx", "args": None}, "not a list"),
        ({"args": ["x"]}, "no command"),
        ({"command": 3}, "no command"),
        ({"command": "npx", "Command": "evil"}, "twice"),
    ],
)
def test_entries_that_are_not_understood_are_left_alone(entry, said):
    decision = decided(entry)
    assert decision.state == "never_wrapped" and said in decision.reason


def test_a_variable_in_the_command_moves_only_where_the_client_expands_arguments():
    assert decided({"command": "${HOME}/x"}, "claude-code").state == "unconfined"
    assert decided({"command": "${env:HOME}/x"}, "cursor").state == "unconfined"
    assert "variable" in decided({"command": "${HOME}/x"}, "claude-desktop").reason


def test_programs_seen_through_shells_and_starters():
    assert programs(["npx", "-y"]) == ["npx"]
    assert programs(["/usr/bin/env", "-S", "A=b", "nohup", "sudo", "x"]) == ["env", "nohup", "sudo"]
    assert programs(["/mnt/c/Program Files/x", "docker"]) == ["x"]
    assert programs(["bash"]) == ["bash"]


def test_claudes_lists_by_command_are_respected(home, monkeypatch, tmp_path):
    managed = tmp_path / "managed-settings.json"
    monkeypatch.setattr(lists, "CLAUDE_MANAGED", str(managed))
    home.put(
        ".claude.json", json.dumps({"mcpServers": {"a": {"command": "npx", "args": ["-y"]}, "b": {"command": "uvx"}}})
    )
    managed.write_text(json.dumps({"deniedMcpServers": [{"serverName": "z"}, {"serverCommand": ["npx", "-y"]}]}))
    rows = home.servers()
    assert (
        rows["a"]["state"] == "never_wrapped"
        and str(managed) in rows["a"]["reason"]
        and "denies" in rows["a"]["reason"]
    )
    assert rows["b"]["state"] == "unconfined"
    managed.write_text(json.dumps({"allowedMcpServers": [{"serverCommand": ["uvx"]}]}))
    assert {row["state"] for row in home.servers().values()} == {"never_wrapped"}
    managed.write_text(json.dumps({"allowedMcpServers": [{"serverName": "a"}, {"serverName": "b"}]}))
    assert {row["state"] for row in home.servers().values()} == {"unconfined"}
    managed.write_text("{")
    assert "cannot be read" in home.servers()["a"]["reason"]


def test_codex_requirements_and_gooses_allowlist_are_respected(home, monkeypatch, tmp_path):
    requirements = tmp_path / "requirements.toml"
    requirements.write_text('[mcp_servers.a.identity]\ncommand = "npx"\n')
    monkeypatch.setattr(lists, "CODEX_REQUIREMENTS", str(requirements))
    home.put(".codex/config.toml", '[mcp_servers.a]\ncommand = "npx"\n[mcp_servers.b]\ncommand = "npx"\n')
    home.put(".config/goose/config.yaml", "extensions: {g: {type: stdio, name: g, cmd: uvx}}\n")
    assert str(requirements) in home.servers()["a"]["reason"]
    assert {home.servers()[name]["state"] for name in "bg"} == {"unconfined"}
    monkeypatch.setenv("GOOSE_ALLOWLIST", "https://example.org/list.yaml")
    assert "GOOSE_ALLOWLIST" in home.servers()["g"]["reason"]


def test_setuid_and_snap_are_seen_on_the_system(home, monkeypatch, tmp_path):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("raising", "plain"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o4755 if name == "raising" else 0o755)
    (folder / "snap").symlink_to(folder / "plain")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    home.put(".cursor/mcp.json", json.dumps({"mcpServers": {name: {"command": name} for name in ("raising", "plain")}}))
    rows = home.servers()
    assert "setuid" in rows["raising"]["reason"] and rows["plain"]["state"] == "unconfined"
