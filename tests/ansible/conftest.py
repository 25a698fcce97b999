"""The modules and playbooks run for real: on this host, with users made for the test, and over ssh on loopback."""
from __future__ import annotations

import json
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tempfile
import textwrap

import pytest
from playground import ANSIBLE, ROOT, SYSTEM_PYTHON, Person, Run, free_port, sshd_running


@pytest.fixture(autouse=True)
def _root_only(request):
    if os.geteuid() != 0:
        pytest.skip("needs root to make users and start sshd")


@pytest.fixture
def place():
    """A folder that every user can reach, for prefixes, keys and inventories."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="mcp-"))
    os.chmod(folder, 0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def people():
    """Makes users; they and all their processes and files are gone afterwards."""
    made: list[str] = []

    def make(count: int = 1) -> list[Person]:
        found = []
        for _ in range(count):
            name = f"mcp{os.getpid()}n{len(made)}"
            subprocess.run(["useradd", "--create-home", "--shell", "/bin/bash", name], check=True)
            made.append(name)
            found.append(Person(name, pathlib.Path(pwd.getpwnam(name).pw_dir)))
        return found

    yield make
    for name in made:
        subprocess.run(["userdel", "--remove", "--force", name], check=False, stderr=subprocess.DEVNULL)


@pytest.fixture
def play(place, people):
    """Runs a playbook of the repository on the test's own prefix; on this host when no `hosts` are given."""

    def run(playbook: str, *options: str, users: list[Person], hosts: dict | None = None, **variables) -> Run:
        hosts = hosts or {"this": {"ansible_connection": "local"}}
        inventory = place / "inventory.json"
        inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
        values = {"mcp_confine_prefix": str(place / "prefix"), "mcp_confine_users": [user.name for user in users],
                  "mcp_confine_timeout": 30, **variables}
        environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
                       "ANSIBLE_SSH_CONTROL_PATH_DIR": str(place / "cp"), "ANSIBLE_LOCALHOST_WARNING": "false",
                       "HOME": str(place)}
        done = subprocess.run(
            [ANSIBLE / "ansible-playbook", "-i", inventory, ROOT / "playbooks" / playbook, "-e", json.dumps(values),
             *options],
            env=environment, cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
        text = done.stdout + done.stderr
        recap = {host: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)}
                 for host, counts in re.findall(r"^(\S+)\s+: (ok=.*)$", text, re.MULTILINE)}
        return Run(done.returncode, text, recap)

    return run


@pytest.fixture
def sshd(place):
    """An sshd of the test's own on loopback, for root by key: host variables for the inventory."""
    pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # its privilege separation directory
    for name in ("host", "client"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", place / name], check=True)
    port = free_port()
    (place / "sshd_config").write_text(textwrap.dedent(f"""
        ListenAddress 127.0.0.1
        HostKey {place}/host
        AuthorizedKeysFile {place}/client.pub
        PermitRootLogin prohibit-password
        PasswordAuthentication no
        UsePAM no
        StrictModes no
        PidFile none
        """))
    (place / "known_hosts").write_text(f"[127.0.0.1]:{port} {(place / 'host.pub').read_text()}")
    with sshd_running(place / "sshd_config", port):
        yield {"ansible_host": "127.0.0.1", "ansible_port": port, "ansible_user": "root",
               "ansible_ssh_private_key_file": str(place / "client"),
               "ansible_ssh_common_args": f"-o UserKnownHostsFile={place}/known_hosts -o IdentitiesOnly=yes"}


@pytest.fixture
def without_landlock(place):
    """An interpreter in which Landlock's calls answer with an errno, or kill: host variables for the inventory."""

    def make(answer: str) -> dict:
        action = {"ENOSYS": 0x00050000 | 38, "EPERM": 0x00050000 | 1, "EOPNOTSUPP": 0x00050000 | 95,
                  "kill": 0x80000000}[answer]
        script = place / f"python-{answer}"
        script.write_text(textwrap.dedent(f"""\
            #!{SYSTEM_PYTHON} -IS
            import ctypes, os, struct, sys
            row = struct.Struct("HBBI").pack
            program = (row(0x20, 0, 0, 0) + row(0x35, 0, 2, 444) + row(0x25, 1, 0, 446) + row(0x06, 0, 0, {action})
                       + row(0x06, 0, 0, 0x7FFF0000))
            class Program(ctypes.Structure):
                _fields_ = [("length", ctypes.c_ushort), ("rows", ctypes.c_char_p)]
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.prctl(22, 2, ctypes.byref(Program(len(program) // 8, program)), 0, 0):
                sys.exit(os.strerror(ctypes.get_errno()))
            os.execv({SYSTEM_PYTHON!r}, [{SYSTEM_PYTHON!r}, *sys.argv[1:]])
            """))
        os.chmod(script, 0o755)
        return {"ansible_python_interpreter": str(script)}

    return make
