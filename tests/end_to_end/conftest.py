"""Real servers from npm and PyPI, a real client, a home of its own, and the playbooks as a person runs them."""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
import real_clients

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent  # ansible-playbook and uvx live beside this interpreter
SECRET = "tok-9f3c-never-shown"


@pytest.fixture(scope="session")
def claude():
    """Claude Code's command, installed from npm once, outside of everybody's home."""
    return real_clients.installed() / "claude"


class Run:
    """A playbook's exit status and all that it printed."""

    def __init__(self, status: int, output: str) -> None:
        self.status, self.output = status, output

    @property
    def recap(self) -> dict[str, int]:
        line = re.search(r"^localhost +: (.*)$", self.output, re.MULTILINE)
        assert line, self.output
        return {name: int(count) for name, count in re.findall(r"(\w+)=(\d+)", line[1])}


class Workstation:
    """A home with a client's config in it, on this very host."""

    def __init__(self, home: Path, enter: list[str]) -> None:
        self.home, self.enter = home, enter
        self.config = home / ".claude.json"
        self.wrapper = "/usr/local/bin/mcp-confine" if os.geteuid() == 0 else str(home / ".local/bin/mcp-confine")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("MCP_", "PYTEST", "CLAUDE"))},
            "HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}", "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(home.parent / "ansible"),
            "ANSIBLE_REMOTE_TEMP": str(home.parent / "ansible-remote")}

    def play(self, name: str, *options: str) -> Run:
        """Runs a playbook on this host."""
        ran = self.run(["ansible-playbook", f"playbooks/{name}.yml", *options], cwd=ROOT)
        return Run(ran.returncode, ran.stdout + ran.stderr)

    def run(self, argv: list, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess:
        """A command of this workstation's user, by default in the home."""
        enter = [word if not word.startswith("--wdns=") else f"--wdns={cwd or self.home}" for word in self.enter]
        return subprocess.run([*enter, *argv], cwd=cwd or self.home, env={**self.environment, **environment}, text=True,
                              capture_output=True, timeout=900)

    def installed(self) -> bool:
        return self.run(["test", "-e", self.wrapper]).returncode == 0

    def servers(self) -> dict:
        return json.loads(self.config.read_text())["mcpServers"]

    def digest(self) -> str:
        return hashlib.sha256(self.config.read_bytes()).hexdigest()

    def tree(self) -> dict[str, str]:
        """Every path of the home with what it is and holds."""
        found = {}
        for path in sorted(self.home.rglob("*")):
            held = path.readlink() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            found[str(path)] = f"{path.lstat().st_mode:o} {hashlib.sha256(str(held).encode()).hexdigest()}"
        return found


@pytest.fixture(scope="module")
def enter():
    """The words that run a command where /usr/local is a copy and root the only user with a home.

    The machine's own wrapper and its other users stay as they are.
    """
    if os.geteuid() != 0:
        yield []
        return
    place = tempfile.mkdtemp(prefix="namespace-", dir="/opt")
    handle = f"{place}/mnt"
    Path(handle).touch()
    subprocess.run(["mount", "--bind", place, place], check=True)
    subprocess.run(["mount", "--make-private", place], check=True)
    subprocess.run(["unshare", f"--mount={handle}", "sh", "-ec", """
        layers=/tmp/layers-$$
        mkdir $layers; mount -t tmpfs tmpfs $layers
        for folder in /usr/local /etc; do
            mkdir -p $layers/upper$folder $layers/work$folder
            mount -t overlay -o lowerdir=$folder,upperdir=$layers/upper$folder,workdir=$layers/work$folder o $folder
        done
        rm -rf /usr/local/bin/mcp-confine /usr/local/lib/mcp-confine /etc/mcp-confine
        awk -F: '$3 < 1000 || $3 == 65534' /etc/passwd > /etc/passwd.alone; mv /etc/passwd.alone /etc/passwd"""],
        check=True)
    yield ["nsenter", f"--mount={handle}", f"--wdns={ROOT}"]
    subprocess.run(["umount", handle], check=True)
    subprocess.run(["umount", place], check=True)
    shutil.rmtree(place)


@pytest.fixture(scope="module")
def workstation(landlock_abi, enter):
    """The acceptance case: a filesystem server, a git server and a remote one, in Claude Code's own file."""
    # Not below /tmp and not hidden: a home like others, which the servers' working directories may be in.
    place = Path(tempfile.mkdtemp(prefix="workstation-", dir="/opt" if os.geteuid() == 0 else Path.home()))
    home = place / "home"
    (home / "notes").mkdir(parents=True)
    (home / "notes/inside.txt").write_text("inside\n")
    (home / "outside.txt").write_text("outside\n")
    (home / ".ssh").mkdir(mode=0o700)
    (home / ".ssh/id_test").write_text("PRIVATE KEY\n")
    subprocess.run(["git", "init", "--quiet", str(home / "repository")], check=True)
    # By hand, not by json.dump: odd spacing and escapes have to survive.
    (home / ".claude.json").write_text(f"""{{
  "numStartups": 3, "tipsHistory": {{}},
    "mcpServers" : {{
    "files": {{ "type": "stdio", "command": "npx",
       "args": ["-y", "@modelcontextprotocol/server-filesystem", "{home}/notes"],
       "env": {{ "API_TOKEN": "{SECRET}" }} }},
    "git": {{"command": "uv\\u0078", "args": [
        "mcp-server-git",
        "--repository", "{home}/repository"
    ]}},
    "remote": {{"type": "http", "url": "https://mcp.example.com/{SECRET}", "headers": {{"Authorization": "{SECRET}"}}}}
  }}
}}
""")
    yield Workstation(home, enter)
    shutil.rmtree(place)
