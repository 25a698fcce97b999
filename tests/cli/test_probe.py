"""The `probe` command as a developer without privileges uses it: look, wrap, check, ask why, unwrap."""
from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

SERVER = '''
import json, sys, os
for line in sys.stdin:
    asked = json.loads(line)
    if asked.get("method") == "initialize":
        open(sys.argv[1]).read()
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
    else:
        result = {"tools": []}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
'''


class Developer:
    """A person with a copy of the package, a client's file and a server."""

    def __init__(self, person) -> None:
        self.person = person
        self.config = person.file(".claude.json", "")
        shutil.copytree(ROOT / "probe", os.path.join(person.home, "package/probe"),
                        ignore=shutil.ignore_patterns("__pycache__"))
        self.notes = person.file("notes/notes.txt", "notes\n")
        person.file("server/server.py", SERVER)

    def configure(self, *arguments: str) -> bytes:
        content = json.dumps({"mcpServers": {"notes": {
            "command": "python3", "args": [f"{self.person.home}/server/server.py", *arguments],
            "env": {"TOKEN": "SECRET-VALUE"}}, "far": {"type": "http", "url": "https://x.example.com/SECRET-VALUE"}}})
        self.person.file(".claude.json", content)
        return content.encode()

    def probe(self, *words: str) -> subprocess.CompletedProcess:
        done = self.person.run(["/usr/bin/python3", "-m", "probe", *words], cwd=f"{self.person.home}/package")
        assert "SECRET-VALUE" not in done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def answer(self, *words: str) -> dict:
        return json.loads(self.probe(*words, "--json").stdout)


@pytest.fixture
def developer(person, landlock_abi):
    return Developer(person)


def test_a_server_is_wrapped_proved_explained_and_given_back(developer):
    before = developer.configure(developer.notes)
    rows = {row["server"]: row["state"] for row in developer.answer("servers")["servers"]}
    assert rows == {"notes": "unconfined", "far": "remote"}

    told = developer.probe("wrap", "--dry-run")
    assert told.returncode == 0 and "+  command: " in told.stdout and open(developer.config, "rb").read() == before
    asked = developer.probe("wrap")
    assert asked.returncode == 20 and "nobody can be asked here; add --yes" in asked.stderr
    assert open(developer.config, "rb").read() == before
    assert developer.probe("wrap", "--yes").returncode == 0
    entry = json.loads(open(developer.config).read())["mcpServers"]["notes"]
    assert entry["command"] in (f"{developer.person.home}/.local/bin/mcp-confine", "/usr/local/bin/mcp-confine")
    assert "Nothing to change" in developer.probe("wrap", "--yes").stdout

    failed = developer.probe("check")
    assert failed.returncode == 1 and f"--ro {developer.notes}" in failed.stdout
    why = developer.answer("why", "notes")
    assert f"--ro {developer.notes}" in why["servers"][0]["reason"]
    assert {"call": "openat", "target": developer.notes, "errno": "EACCES", "grant": f"--ro {developer.notes}"} in \
        why["denied"]
    developer.person.file(".config/mcp-confine/policies/notes", f"--ro {developer.notes}\n")
    passed = developer.probe("check")
    assert passed.returncode == 0 and "works, 0 tools" in passed.stdout, passed.stdout
    assert developer.probe("why", "notes").returncode == 0

    assert developer.probe("unwrap", "--yes").returncode == 0
    assert open(developer.config, "rb").read() == before


def test_the_verdict_for_this_host_has_its_exit_status_and_both_forms(developer):
    told = developer.probe("host")
    machine = developer.answer("host")
    assert told.returncode == {"usable": 0, "limited": 10, "blocked": 11, "unknown": 12}[machine["verdict"]]
    assert machine["mechanisms"]["landlock"]["state"] in ("usable", "limited")
    assert told.stdout.isascii() is False and developer.probe("host", "--ascii").stdout.isascii()
    assert developer.probe("-v").stdout.count("\n") > told.stdout.count("\n")


def test_codes_are_listed_and_explained(developer):
    codes = [row["code"] for row in developer.answer("codes")["codes"]]
    assert "LANDLOCK_OFF_AT_BOOT" in codes
    assert "LANDLOCK_OFF_AT_BOOT" in developer.probe("explain", "landlock_off_at_boot").stdout
    assert developer.probe("explain", "NO_SUCH_CODE").returncode == 64


@pytest.mark.parametrize(("words", "said"), [
    (["nonsense"], "invalid choice"),
    (["wrap", "--frobnicate"], "unrecognized arguments"),
    (["why"], "required"),
    (["wrap", "--client", "no-such-client", "--yes"], "no client named no-such-client"),
])
def test_a_bad_call_says_so_and_ends_with_64(developer, words, said):
    done = developer.probe(*words)
    assert done.returncode == 64 and said in done.stderr


def test_a_server_that_is_not_there_is_named(developer):
    developer.configure(developer.notes)
    done = developer.probe("why", "absent")
    assert done.returncode == 20 and "no confined server is called 'absent'; `probe servers` lists all" in done.stderr


@pytest.mark.network
def test_the_package_installs_both_commands(tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv"], check=True)
    subprocess.run([tmp_path / "venv/bin/pip", "install", "--quiet", "--no-deps", str(ROOT)], check=True, cwd=tmp_path)
    for command in ("probe", "mcp-confine"):
        done = subprocess.run([tmp_path / "venv/bin" / command, "--version"], capture_output=True, text=True,
                              cwd=tmp_path)
        assert done.stdout.startswith(f"{command} 0."), done.stderr
