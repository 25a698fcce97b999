"""Ten hosts as hosts are found: proven or refused with a reason, then no change, then every byte back."""
from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import time

import pytest
from fleet_lab import Kind
from plays import FILTERED, client_files, furnished, line_of, play, start

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
    "new-python": Kind(release="trixie", user="admin"),
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
    with contextlib.ExitStack() as open_labs:
        yield lambda kinds: open_labs.enter_context(furnished(kinds))


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


@pytest.mark.skipif("MCP_CONFINE_HOSTS" not in os.environ, reason="make test-fleet-100")
def test_many_hosts_are_proven_then_left_alone_then_given_back(lab_of):
    releases, count = ("bookworm", "trixie", "bullseye"), int(os.environ["MCP_CONFINE_HOSTS"])
    lab = lab_of({f"host{number}": Kind(releases[number % 3]) for number in range(count)})
    before = client_files(lab)
    said, recap = play(lab, "enable-landlock.yml")
    assert {name for name, counts in recap.items() if counts["changed"] == 2 and not counts["failed"]} == set(lab.hosts)
    assert all("2 confined" in line_of(said, name) for name in lab.hosts), said
    again, recap = play(lab, "enable-landlock.yml")
    assert all(counts["changed"] == counts["failed"] == 0 for counts in recap.values()), again
    assert all("2 proved in an earlier run" in line_of(again, name) for name in lab.hosts), again
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
