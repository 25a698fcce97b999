"""Playbooks over the hosts of a lab: developers and their client files on them, a run, and what it said."""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Iterator

from fleet_lab import ROOT, Host, Kind, Lab

FORKS = 10
SERVER = pathlib.Path(ROOT / "tests/ansible/playground.py").read_text().split("FAKE_SERVER = '''")[1].split("'''")[0]

FILTERED = "/usr/bin/python3 /root/filter.py /usr/sbin/sshd -D -e -f /etc/ssh/lab"
# Answers Landlock's three calls as a kernel without it does, for sshd and all that it starts.
FILTER = """
import ctypes, os, struct, sys
row = struct.Struct("HBBI").pack
program = (row(0x20, 0, 0, 0) + row(0x35, 0, 2, 444) + row(0x25, 1, 0, 446) + row(0x06, 0, 0, 0x00050000 | 38)
           + row(0x06, 0, 0, 0x7FFF0000))
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("rows", ctypes.c_char_p)]
if ctypes.CDLL(None).prctl(22, 2, ctypes.byref(Program(len(program) // 8, program)), 0, 0):
    sys.exit("no filter")
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextlib.contextmanager
def furnished(kinds: dict[str, Kind]) -> Iterator[Lab]:
    """A lab of these kinds, each host with a developer and client files, all of them up but those named away."""
    with Lab(kinds) as lab:
        for host in lab.hosts.values():
            furnish(host)
            host.start()
        for name, host in lab.hosts.items():
            if name != "away":
                host.ready()
        yield lab


def furnish(host: Host) -> None:
    """A developer with servers in the files of two clients."""
    real = "/srv/homes/dev" if host.name == "linked-home" else "/home/dev"
    (host.root / "srv/homes").mkdir(parents=True, exist_ok=True)
    subprocess.run(["chroot", host.root, "useradd", "--create-home", "--home-dir", real, "--shell", "/bin/bash", "dev"],
                   check=True)
    if real != "/home/dev":
        (host.root / "home/dev").symlink_to(real)
        subprocess.run(["chroot", host.root, "usermod", "--home", "/home/dev", "dev"], check=True)
    home = host.root / real[1:]
    script = f"{real}/notes.py"
    entry = {"command": "/usr/bin/python3", "args": [script, "--token", "hush"], "env": {"KEY": "hush"}}
    files = {
        "notes.py": SERVER,
        ".claude.json": json.dumps({"numStartups": 0, "mcpServers": {"notes": entry}}, indent=2),
        ".cursor/mcp.json": json.dumps({"mcpServers": {"notes": entry, "far": {"url": "https://example.invalid/"}}}),
    }
    if host.name == "no-tomlkit":
        files[".codex/config.toml"] = f'[mcp_servers.notes]\ncommand = "/usr/bin/python3"\nargs = ["{script}"]\n'
    for name, text in files.items():
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(text)
    (host.root / "root/filter.py").write_text(FILTER)
    subprocess.run(["chroot", host.root, "chown", "-R", "dev:dev", real], check=True)
    if host.kind.user != "root":
        subprocess.run(["chroot", host.root, "useradd", "--create-home", "--shell", "/bin/sh", "--password", "*",
                        host.kind.user], check=True)
        (host.root / "etc/sudoers.d/lab").write_text(f"{host.kind.user} ALL=(ALL:ALL) NOPASSWD: ALL\n")


def client_files(lab: Lab) -> dict[str, str]:
    """SHA-256 of every client file of every host, as seen from below the hosts."""
    found = {}
    for name, host in lab.hosts.items():
        for file in (".claude.json", ".cursor/mcp.json", ".codex/config.toml"):
            for home in ("srv/homes/dev", "home/dev"):
                path = host.root / home / file
                if not (host.root / home).is_symlink() and path.exists():
                    found[f"{name}:{file}"] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def start(lab: Lab, playbook: str | pathlib.Path, *options: str, output: int = subprocess.PIPE, **variables
          ) -> subprocess.Popen:
    """A playbook of this tree, or of a path, over the hosts of the lab."""
    inventory = lab.folder / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {name: host.variables() for name, host in lab.hosts.items()}}}))
    values = {"mcp_confine_users": ["dev"], "mcp_confine_timeout": 60, "mcp_confine_install_editors": False,
              **variables}
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
                   "HOME": str(lab.folder), "ANSIBLE_SSH_CONTROL_PATH_DIR": str(lab.folder / "cp")}
    return lab.controller(
        pathlib.Path(sys.executable).parent / "ansible-playbook", "-i", inventory, ROOT / "playbooks" / playbook,
        "-f", str(FORKS), "-e", json.dumps(values), *options, env=environment, cwd=lab.folder, stdin=subprocess.DEVNULL,
        stdout=output, stderr=subprocess.STDOUT, text=True)


def play(lab: Lab, playbook: str, *options: str, **variables) -> tuple[str, dict[str, dict[str, int]]]:
    said = start(lab, playbook, *options, **variables).communicate()[0]
    return said, {host: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)}
                  for host, counts in re.findall(r"^(\S+)\s+: (ok=.*)$", said, re.MULTILINE)}


def line_of(said: str, host: str) -> str:
    """What the summary tells about a host, its lines joined."""
    found = re.search(rf"- '?\"?{host}: (.*?)(?=\n    - '?\"?\S+: |\n\n|\Z)", said, re.DOTALL)
    return re.sub(r"\s+", " ", found[1]) if found else ""
