"""Real clients read what was written: each from its own package, with a home of its own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess

import pytest
import real_clients

pytestmark = pytest.mark.network


@pytest.fixture(scope="module")
def programs():
    if not shutil.which("npm"):
        pytest.skip("needs npm")
    return real_clients.installed()


def config(client: str, server: list[str]) -> tuple[str, str]:
    """The client's file and its text, written as its users write it."""
    command, *args = server
    if client == "claude":
        entry = {"type": "stdio", "command": command, "args": args, "env": {"K": "v"}}
        return ".claude.json", json.dumps({"numStartups": 1, "mcpServers": {"memory": entry}}, indent=2)
    if client == "codex":
        lines = [
            'model = "x"  # mine',
            "",
            "[mcp_servers.memory]",
            f"command = '{command}'  # why",
            f"args = {json.dumps(args)}",
        ]
        return ".codex/config.toml", "\n".join([*lines, "[mcp_servers.memory.env]", 'K = "v"', ""])
    if client == "opencode":
        entry = {"type": "local", "command": server, "environment": {"K": "v"}}
        schema = '"$schema": "https://opencode.ai/config.json"'  # which the client adds itself when it is missing
        text = "{ // mine\n  " + schema + ',\n  "mcp": {"memory": ' + json.dumps(entry) + "},\n}\n"
        return ".config/opencode/opencode.jsonc", text
    entry = {"command": command, "args": args, "env": {"K": "v"}}
    return ".gemini/settings.json", '{ // mine\n  "mcpServers": {"memory": ' + json.dumps(entry) + "}\n}\n"


@pytest.mark.parametrize(
    ("client", "said"),
    [("claude", "✔ Connected"), ("codex", "enabled"), ("opencode", "connected"), ("gemini", "(stdio)")],
)
def test_a_real_client_lists_and_starts_the_wrapped_server(home, programs, wrapper, client, said):
    name, text = config(client, real_clients.memory_server())
    file = home.put(name, text)
    answer = home.confine(wrapper=wrapper)
    assert [row["state"] for row in answer["servers"]] == ["confined"], answer

    environment = {"HOME": home.path, "PATH": os.environ["PATH"], "TERM": "dumb", "NO_COLOR": "1"}
    done = subprocess.run(
        [programs / client, "mcp", "list"],
        env=environment,
        cwd=home.path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=180,
    )
    shown = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    assert f"{wrapper} --name memory" in re.sub(r" +", " ", shown), done.stdout + done.stderr
    assert said in shown, done.stdout + done.stderr

    home.release(wrapper=wrapper)
    assert json.dumps(real_clients.memory_server()[1])[1:-1] in file.read_text()
    if client != "claude":  # which rewrites its file by itself when it starts
        assert file.read_text() == text
