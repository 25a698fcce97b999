"""Ten hosts as hosts are found: proven or refused with a reason, then no change, then every byte back."""
from __future__ import annotations

import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import pytest
from fleet_lab import ROOT, Kind, Lab

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
# Rewrites the client's file as a client does, beside it and by rename, and counts.
WRITER = """
import json, os, time
path, done = "/home/dev/.claude.json", 0
while not os.path.exists("/tmp/stop"):
    data = json.load(open(path)); data["numStartups"] += 1; done += 1
    with open(path + ".tmp", "w") as file: json.dump(data, file, indent=2)
    os.rename(path + ".tmp", path)
    time.sleep(0.2)
print(done)
"""
KINDS = {
    "healthy": Kind(),
    "old-python": Kind(release="bullseye"),
    "new-python": Kind(release="trixie"),
    "no-landlock": Kind(sshd=FILTERED),
    "no-tomlkit": Kind(),
    "read-only": Kind(before="mount --bind $ROOT/usr/local $ROOT/usr/local; mount -o remount,bind,ro $ROOT/usr/local"),
    "full-disk": Kind(before="mount -t tmpfs -o size=64k,mode=755 tmpfs $ROOT/usr/local"),
    "linked-home": Kind(),
    "rewritten": Kind(),
    "away": Kind(sshd="/bin/sleep infinity"),
}
PROVEN = ("healthy", "old-python", "new-python", "linked-home", "rewritten")
STOPPED = ("no-landlock", "read-only", "full-disk")


@pytest.fixture(autouse=True, scope="module")
def _able():
    if os.geteuid() != 0 or not shutil.which("debootstrap") or not shutil.which("ip"):
        pytest.skip("needs root, debootstrap, iproute2 and openssh")


@pytest.fixture
def lab_of():
    """Makes a lab of these kinds, each host with a developer and client files, all of them up."""
    open_labs = []

    def make(kinds: dict) -> Lab:
        lab = Lab(kinds)
        lab.__enter__()
        open_labs.append(lab)
        for host in lab.hosts.values():
            furnish(host)
            host.start()
        for name, host in lab.hosts.items():
            if name != "away":
                host.ready()
        return lab

    yield make
    for lab in open_labs:
        lab.__exit__()


def furnish(host) -> None:
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


def start(lab: Lab, playbook: str, *options: str, **variables) -> subprocess.Popen:
    inventory = lab.folder / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {name: host.variables() for name, host in lab.hosts.items()}}}))
    values = {"mcp_confine_users": ["dev"], "mcp_confine_timeout": 60, "mcp_confine_install_editors": False,
              **variables}
    environment = {**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
                   "HOME": str(lab.folder), "ANSIBLE_SSH_CONTROL_PATH_DIR": str(lab.folder / "cp")}
    return lab.controller(
        pathlib.Path(sys.executable).parent / "ansible-playbook", "-i", inventory, ROOT / "playbooks" / playbook,
        "-f", "10", "-e", json.dumps(values), *options, env=environment, cwd=lab.folder, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def play(lab: Lab, playbook: str, *options: str, **variables) -> tuple[str, dict[str, dict[str, int]]]:
    said = start(lab, playbook, *options, **variables).communicate()[0]
    return said, {host: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)}
                  for host, counts in re.findall(r"^(\S+)\s+: (ok=.*)$", said, re.MULTILINE)}


def line_of(said: str, host: str) -> str:
    """What the summary tells about a host, its lines joined."""
    found = re.search(rf"- '?\"?{host}: (.*?)(?=\n    - '?\"?\S+: |\n\n|\Z)", said, re.DOTALL)
    return re.sub(r"\s+", " ", found[1]) if found else ""


def test_each_host_is_proven_or_refused_with_its_reason_then_nothing_changes_then_every_byte_is_back(lab_of):
    lab = lab_of(KINDS)
    before = client_files(lab)
    writer = rewrite(lab.hosts["rewritten"])
    said, recap = play(lab, "enable-landlock.yml")
    for name in PROVEN:
        assert recap[name]["failed"] == 0 and recap[name]["changed"] == 2, line_of(said, name) or said
        assert "2 confined" in line_of(said, name)
    for name in STOPPED:
        assert recap[name]["failed"] == 1 and recap[name]["changed"] == 0, said
    assert "LANDLOCK_" in line_of(said, "no-landlock") and "Remedy" in line_of(said, "no-landlock")
    assert "read-only file system" in said and "No space left on device" in said
    assert recap["no-tomlkit"]["failed"] == 1 and "tomlkit" in line_of(said, "no-tomlkit")
    assert recap["away"]["unreachable"] == 1 and "cannot be reached" in line_of(said, "away")
    after = client_files(lab)
    for name in (*STOPPED, "away"):
        assert {key: after[key] for key in after if key.startswith(name)} == {
            key: before[key] for key in before if key.startswith(name)}

    again, recap = play(lab, "enable-landlock.yml")
    assert {name: counts["changed"] for name, counts in recap.items()} == dict.fromkeys(KINDS, 0), again
    assert {name for name, counts in recap.items() if not counts["failed"] + counts["unreachable"]} == set(PROVEN)

    lab.hosts["rewritten"].ssh("touch /tmp/stop")
    counted = int(writer.communicate()[0])
    file = lab.hosts["rewritten"].root / "home/dev/.claude.json"
    assert json.loads(file.read_text())["numStartups"] == counted, "an update of the client was lost"

    back, recap = play(lab, "disable-landlock.yml")
    for name in (*PROVEN, "no-tomlkit"):
        assert recap[name]["failed"] == 0, back
        assert lab.hosts[name].ssh("ls /usr/local/bin/mcp-confine").returncode != 0
    data = json.loads(file.read_text())
    file.write_text(json.dumps({**data, "numStartups": 0}, indent=2))
    assert client_files(lab) == before


def rewrite(host) -> subprocess.Popen:
    """A client that rewrites its file all the time, as the developer, on the host."""
    (host.root / "srv/writer.py").write_text(WRITER)
    return host.lab.controller(
        "ssh", *host.lab.ssh_options(), "-i", host.lab.folder / "client", f"root@{host.address}",
        "su dev -c 'python3 /srv/writer.py'", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)


def test_an_interrupted_run_leaves_no_host_half_done_after_the_next(lab_of):
    lab = lab_of({name: KINDS[name] for name in ("healthy", "old-python", "new-python")})
    before = client_files(lab)
    begun = time.monotonic()
    assert all(counts["failed"] == 0 for counts in play(lab, "enable-landlock.yml")[1].values())
    whole = time.monotonic() - begun
    chance = random.Random(7)
    for _ in range(int(os.environ.get("MCP_CONFINE_INTERRUPTS", "20"))):
        play(lab, "disable-landlock.yml")
        assert client_files(lab) == before
        run = start(lab, "enable-landlock.yml")
        time.sleep(chance.uniform(0, whole))
        run.send_signal(signal.SIGINT)
        run.communicate()
        for host in lab.hosts.values():  # a file is the old one or the new one
            json.loads((host.root / "home/dev/.claude.json").read_text())
            assert host.ssh("test ! -e /usr/local/bin/mcp-confine || mcp-confine --version").returncode == 0
    said, recap = play(lab, "enable-landlock.yml")
    assert all(counts["failed"] == 0 for counts in recap.values()), said
    again, recap = play(lab, "enable-landlock.yml")
    assert all(counts["changed"] == counts["failed"] == 0 for counts in recap.values()), again
    play(lab, "disable-landlock.yml")
    assert client_files(lab) == before


def test_a_host_that_dies_during_the_run_stops_no_other_and_is_whole_after_the_next(lab_of):
    lab = lab_of({name: KINDS[name] for name in ("healthy", "old-python", "new-python")})
    before = client_files(lab)
    run = start(lab, "enable-landlock.yml")
    dying = lab.hosts["old-python"]
    wrapper = dying.root / "usr/local/lib/mcp-confine"
    end = time.monotonic() + 120
    while not wrapper.exists() and time.monotonic() < end:
        time.sleep(0.01)
    dying.stop()
    said = run.communicate()[0]
    assert "2 confined" in line_of(said, "healthy") and "2 confined" in line_of(said, "new-python"), said
    dying.start()
    dying.ready()
    said, recap = play(lab, "enable-landlock.yml")
    assert all(counts["failed"] == 0 for counts in recap.values()), said
    play(lab, "disable-landlock.yml")
    assert client_files(lab) == before
