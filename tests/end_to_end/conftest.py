"""Real servers from npm and PyPI, a real client, a home of its own, and the playbooks as a person runs them."""
from __future__ import annotations

import ctypes
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

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent  # ansible-playbook and uvx live beside this interpreter
CLIENTS = ROOT / ".lab" / "npm"
CLONE_NEWNS = 0x00020000
SECRET = "tok-9f3c-never-shown"


@pytest.fixture(scope="session")
def claude():
    """Claude Code's command, installed from npm once, outside of everybody's home."""
    command = CLIENTS / "node_modules/.bin/claude"
    if not command.exists():
        CLIENTS.mkdir(parents=True, exist_ok=True)
        subprocess.run(["npm", "install", "--silent", "--prefix", str(CLIENTS), "@anthropic-ai/claude-code"],
                       check=True, timeout=600)
    return command


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

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config = home / ".claude.json"
        self.wrapper = "/usr/local/bin/mcp-confine" if os.geteuid() == 0 else str(home / ".local/bin/mcp-confine")
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("MCP_", "PYTEST", "CLAUDE"))},
            "HOME": str(home), "PATH": f"{BIN}:{os.environ['PATH']}", "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_NOCOLOR": "1", "ANSIBLE_HOME": str(home.parent / "ansible"),
            "ANSIBLE_REMOTE_TEMP": str(home.parent / "ansible-remote")}

    def play(self, name: str, *options: str) -> Run:
        """Runs a playbook on this host."""
        ran = subprocess.run(["ansible-playbook", f"playbooks/{name}.yml", *options], cwd=ROOT, text=True,
                             env=self.environment, capture_output=True, timeout=900)
        return Run(ran.returncode, ran.stdout + ran.stderr)

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
def own_usr_local():
    """For root: a /usr/local that only this process and its children see, so the machine's own stays as it is."""
    if os.geteuid() != 0:
        return
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        pytest.fail(f"cannot get a mount namespace: {os.strerror(ctypes.get_errno())}")
    layers = tempfile.mkdtemp(prefix="usr-local-", dir="/opt")
    for command in (["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "tmpfs", layers],
                    ["mkdir", f"{layers}/upper", f"{layers}/work"],
                    ["mount", "-t", "overlay", "-o",
                     f"lowerdir=/usr/local,upperdir={layers}/upper,workdir={layers}/work", "overlay", "/usr/local"]):
        subprocess.run(command, check=True)
    # The machine's own wrapper, if it has one, is not part of the story.
    subprocess.run(["rm", "-rf", "/usr/local/bin/mcp-confine", "/usr/local/lib/mcp-confine"], check=True)


@pytest.fixture(scope="module")
def workstation(landlock_abi, own_usr_local):
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
    yield Workstation(home)
    shutil.rmtree(place)
