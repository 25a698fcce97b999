"""Tokens planted everywhere in clients' files appear in nothing that this room says, remembers or raises."""

from __future__ import annotations

import json
import os
import traceback
from pathlib import Path

import pytest

from probe.clients import act

TOKEN = "sk-live-PLANTED-4f9c"
ENTRIES = {
    "args": {"command": "npx", "args": ["-y", "pkg", "--token", TOKEN, f"--key={TOKEN}", f"-p{TOKEN}", TOKEN]},
    "env": {"command": "npx", "env": {"API_KEY": TOKEN}},
    "uri": {"command": "uvx", "args": [f"postgresql://me:{TOKEN}@db/x"]},
    "line": {"command": f"API_KEY={TOKEN} npx -y pkg --token {TOKEN}"},
    "path": {"command": f"/opt/run?token={TOKEN}"},
    "remote": {"type": "http", "url": f"https://x/?t={TOKEN}", "headers": {"Authorization": f"Bearer {TOKEN}"}},
    "docker": {"command": "docker", "args": ["run", "-e", f"K={TOKEN}", "x"]},
    "sudo": {"command": "sudo", "args": [f"K={TOKEN}", "x"]},
    "odd": {"command": "npx", "args": [TOKEN, 3, {"deep": TOKEN}, None]},
    "notalist": {"command": "npx", "args": TOKEN},
    "wrapped": {
        "command": "/usr/local/bin/mcp-confine",
        "args": [
            "--name",
            "wrapped",
            "--setenv",
            f"K={TOKEN}",
            f"--setenv=L={TOKEN}",
            "--rw",
            f"/{TOKEN}",
            "--",
            "npx",
            TOKEN,
        ],
    },
    "nested": {"command": "pipelock", "args": [TOKEN, "/usr/local/bin/mcp-confine", "--name", "n", "--", "npx", TOKEN]},
    "cwd": {"command": "npx", "cwd": f"/srv/{TOKEN}"},
}


def check(home, *answers: object) -> None:
    assert TOKEN not in json.dumps(answers)
    for folder, _, names in os.walk(f"{home.path}/.local"):
        for name in names:
            assert TOKEN not in Path(folder, name).read_text(), name


def test_json(home, capfd):
    home.put(".cursor/mcp.json", json.dumps({"mcpServers": ENTRIES}))
    home.put(
        ".claude.json", json.dumps({"note": TOKEN, "projects": {"/p": {"history": [TOKEN], "mcpServers": ENTRIES}}})
    )
    answers = [act.servers(home.path, []), home.confine(dry_run=True), home.confine(), act.servers(home.path, [])]
    check(home, *answers)  # what is remembered while servers are wrapped
    answers += [
        home.release(
            servers=["args"],
            refused=[{"client": "cursor", "file": f"{home.path}/.cursor/mcp.json", "server": "args", "reason": "why"}],
        )
    ]
    answers += [home.confine(), home.release(dry_run=True), home.release()]
    assert any(file["changed"] for file in answers[2]["files"])
    check(home, *answers)
    assert TOKEN not in "".join(capfd.readouterr())


def test_toml_and_yaml(home):
    toml = "\n".join(
        f'[mcp_servers.{name}]\ncommand = "npx"\nargs = ["--token", "{TOKEN}"]\nenv = {{ K = "{TOKEN}" }}'
        for name in "ab"
    )
    home.put(".codex/config.toml", toml)
    home.put(
        ".config/goose/config.yaml",
        f"extensions:\n  a:\n    cmd: npx\n    args: [--token, {TOKEN}]\n    envs:\n      K: {TOKEN}\n  b:\n    uri: https://{TOKEN}\n",
    )
    answers = [act.servers(home.path, []), home.confine(), act.servers(home.path, [])]
    check(home, *answers)
    answers.append(home.release())
    assert answers[1]["changed"]
    check(home, *answers)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".cursor/mcp.json", '{"mcpServers": {"a": {"command": "npx", "args": ["%s" "x"]}}}'),
        (".cursor/mcp.json", '{"mcpServers": {"a": {"env": {"%s": "%s'),
        (".cursor/mcp.json", '{"mcpServers": {"a": {}, "a": {"x": "%s"}}}'),
        (".cursor/mcp.json", '{"mcpServers": {"a": \\%s}}'),
        (".cursor/mcp.json", "%s"),
        (".codex/config.toml", '[mcp_servers.a]\ncommand = "%s\n'),
        (".codex/config.toml", "%s = %s"),
        (".codex/config.toml", '[mcp_servers.a]\nx = "%s"\nx = "%s"'),
        (".config/goose/config.yaml", "extensions: {a: *%s}"),
        (".config/goose/config.yaml", "extensions:\n  a: '%s\n b: x"),
        (".config/goose/config.yaml", "a: b: %s"),
        (".config/goose/config.yaml", "extensions: !<%s> x\nb: &%s [*%s]"),
    ],
)
def test_errors_about_broken_files(home, name, text):
    home.put(name, text.replace("%s", TOKEN))
    answers = [act.servers(home.path, []), home.confine(), home.release()]
    assert answers[1]["problems"] or not answers[1]["changed"]
    check(home, *answers)


def test_exceptions_of_the_editors_carry_no_content(home):
    from probe.clients import edit
    from probe.clients.catalogue import BY_NAME

    broken = {
        "json": b'{"mcpServers": {"a": "%s" "b"}}',
        "json5": b"{mcpServers: {'a': '%s' 'b'}}",
        "toml": b"a = '%s",
        "yaml": b"a: '%s",
    }
    for format, data in broken.items():
        with pytest.raises(edit.DocumentError) as caught:
            edit.editor(format).read(data.replace(b"%s", TOKEN.encode()), BY_NAME["cursor"].places[0].keys)
        shown = traceback.format_exception(caught.type, caught.value, None)
        assert TOKEN not in "".join(shown)
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
