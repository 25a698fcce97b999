"""The write protocol: old bytes or new ones, attributes and links kept, nobody's update lost, nothing left behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from probe.clients import replace as module
from probe.clients.replace import Changed, Refused, client_lock, contents, replace, sweep, target

ROUNDS = int(os.environ.get("MCP_CONFINE_ROUNDS", "15"))  # the nightly run says 1000
KILLS = int(os.environ.get("MCP_CONFINE_KILLS", "12"))  # the nightly run says 500
CONFIG = b'{"mcpServers": {"fs": {"command": "npx", "args": ["-y", "pkg"]}}}\n'
ROOT = str(Path(__file__).resolve().parents[2])


def strays(folder: str | Path) -> list[str]:
    return [name for name in os.listdir(folder) if module.MARK in name]


def test_mode_owner_and_attributes_are_kept(tmp_path):
    file = tmp_path / "mcp.json"
    file.write_bytes(b"old")
    file.chmod(0o640)
    try:
        os.setxattr(file, "user.comment", b"mine")
    except OSError:
        pytest.skip("no extended attributes on this file system")
    before = file.stat()
    replace(str(file), b"old", b"new")
    after = file.stat()
    assert file.read_bytes() == b"new"
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)
    assert os.getxattr(file, "user.comment") == b"mine"
    assert strays(tmp_path) == []


def test_a_file_with_a_token_never_becomes_readable_for_others_on_the_way(tmp_path, monkeypatch):
    file = tmp_path / "mcp.json"
    file.write_bytes(b"old")
    file.chmod(0o600)
    seen = []
    sync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda handle: (seen.append(os.fstat(handle).st_mode & 0o777), sync(handle))[1])
    os.umask(0)
    try:
        replace(str(file), b"old", b"new")
    finally:
        os.umask(0o022)
    assert seen[0] == 0o600


def test_a_changed_file_is_not_replaced(tmp_path):
    file = tmp_path / "mcp.json"
    file.write_bytes(b"somebody else's")
    with pytest.raises(Changed):
        replace(str(file), b"old", b"new")
    assert file.read_bytes() == b"somebody else's"
    assert strays(tmp_path) == []


def test_an_update_in_the_last_moment_wins_and_is_noticed(tmp_path, monkeypatch):
    file = tmp_path / "mcp.json"
    file.write_bytes(b"old")
    swap = module._exchange

    def update_first(one: str, other: str) -> bool:
        monkeypatch.setattr(module, "_exchange", swap)
        (tmp_path / "theirs").write_bytes(b"update")
        os.rename(tmp_path / "theirs", file)
        return swap(one, other)

    monkeypatch.setattr(module, "_exchange", update_first)
    with pytest.raises(Changed):
        replace(str(file), b"old", b"new")
    assert file.read_bytes() == b"update"
    assert strays(tmp_path) == []


def test_a_file_system_that_cannot_swap_gets_a_plain_rename_with_the_same_check(tmp_path, monkeypatch):
    file = tmp_path / "mcp.json"
    file.write_bytes(b"old")
    monkeypatch.setattr(module, "_exchange", lambda one, other: False)
    replace(str(file), b"old", b"new")
    assert file.read_bytes() == b"new"
    with pytest.raises(Changed):
        replace(str(file), b"old", b"newer")
    assert file.read_bytes() == b"new" and strays(tmp_path) == []


def test_a_writer_that_still_had_the_old_file_open_loses_nothing(tmp_path):
    file = tmp_path / "mcp.json"
    file.write_bytes(b"old")
    script = "import sys, time; f = open(sys.argv[1], 'r+b'); print(flush=True); time.sleep(0.15); f.write(b'NEW')"
    with subprocess.Popen([sys.executable, "-c", script, str(file)], stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(Changed):
            replace(str(file), b"old", b"ours")
    assert file.read_bytes() == b"NEW"


def test_links_are_followed_and_kept(home):
    real = home.put("dotfiles/cursor.json", CONFIG)
    Path(home.path, ".cursor").mkdir()
    Path(home.path, "middle").symlink_to("dotfiles/cursor.json")
    link = Path(home.path, ".cursor/mcp.json")
    link.symlink_to("../middle")
    assert home.confine()["changed"]
    assert link.is_symlink() and Path(home.path, "middle").is_symlink()
    assert b"mcp-confine" in real.read_bytes()
    home.release()
    assert real.read_bytes() == CONFIG


def test_a_link_out_of_the_home_is_refused_by_name(home, tmp_path):
    outside = tmp_path / "outside.json"
    outside.write_bytes(CONFIG)
    Path(home.path, ".cursor").mkdir()
    Path(home.path, ".cursor/mcp.json").symlink_to(outside)
    answer = home.confine()
    assert not answer["changed"] and outside.read_bytes() == CONFIG
    assert answer["problems"] == [{"path": f"{home.path}/.cursor/mcp.json", "reason": answer["problems"][0]["reason"]}]
    assert "leads out of the home" in answer["problems"][0]["reason"]


def test_files_of_others_hard_links_read_only_files_and_pipes_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "mcp.json"
    file.write_bytes(CONFIG)
    assert target(str(file), [str(tmp_path)]) == str(file)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: file.stat().st_uid + 1)
        with pytest.raises(Refused, match="belongs to uid"):
            target(str(file), [str(tmp_path)])
    os.link(file, tmp_path / "second")
    with pytest.raises(Refused, match="hard links"):
        target(str(file), [str(tmp_path)])
    os.unlink(tmp_path / "second")
    file.chmod(0o444)
    with pytest.raises(Refused, match="read-only"):
        target(str(file), [str(tmp_path)])
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Refused, match="regular"):
        contents(str(tmp_path / "pipe"))


def test_no_write_when_nothing_changes(home):
    file = home.put(".cursor/mcp.json", CONFIG)
    home.confine()
    before = file.stat()
    home.confine()
    after = file.stat()
    assert (before.st_mtime_ns, before.st_ino) == (after.st_mtime_ns, after.st_ino)


def test_the_clients_lock_is_waited_for_and_a_dead_one_taken_over(tmp_path, monkeypatch):
    file = tmp_path / "cline_mcp_settings.json"
    file.write_bytes(CONFIG)
    lock = tmp_path / "cline_mcp_settings.json.lock"
    lock.mkdir()
    monkeypatch.setattr(module, "LOCK_WAIT", 0.1)
    with pytest.raises(Refused, match=r"cline_mcp_settings\.json\.lock"), client_lock(str(file), ".lock"):
        pass
    assert lock.is_dir(), "a lock that is held is left alone"
    os.utime(lock, (time.time() - 60,) * 2)
    with client_lock(str(file), ".lock"):
        assert lock.is_dir()
    assert not lock.exists()


def test_what_a_killed_run_left_is_removed_by_the_next(home):
    home.put(".cursor/mcp.json", CONFIG)
    stray = home.put(f".cursor/.mcp.json{module.MARK}0123", b"half")
    other = home.put(".cursor/.other.json", b"kept")
    home.confine()
    assert not stray.exists() and other.exists()
    sweep(f"{home.path}/.cursor/mcp.json")
    assert other.exists()


WRITER = """
import json, os, random, sys, time
path, stop, how, enough = sys.argv[1:]
def put(data):
    text = json.dumps(data, indent=2)
    if how == "rename":
        with open(path + ".theirs", "w") as file:
            file.write(text)
        os.rename(path + ".theirs", path)
    else:
        with open(path, "r+") as file:
            file.write(text)
            file.truncate()
count = lost = 0
while not os.path.exists(stop):
    if how == "locked":
        try:
            os.mkdir(path + ".lock")
        except FileExistsError:
            time.sleep(0.0005)
            continue
    with open(path) as file:
        data = json.load(file)
    if data["count"] != count:
        lost += 1
    count += 1
    data["count"] = count
    put(data)
    if how == "locked":
        os.rmdir(path + ".lock")
    if count == int(enough):
        open(stop + ".enough", "w").close()
    time.sleep(random.uniform(0.001, 0.012))
print(json.dumps([count, lost]))
"""


@pytest.mark.parametrize("how", ["rename", "locked"])
def test_a_client_that_writes_all_the_time_loses_no_update(home, how):
    """Its counter never goes back, the file can always be read, and with the client's lock ours are not lost either."""
    start = {"count": 0, **json.loads(CONFIG)}
    name = ".cline/data/settings/cline_mcp_settings.json" if how == "locked" else ".cursor/mcp.json"
    file = home.put(name, json.dumps(start))
    stop = Path(home.path, "stop")
    enough = 2 * ROUNDS + 1
    with subprocess.Popen([sys.executable, "-c", WRITER, str(file), str(stop), how, str(enough)],
                          stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        try:
            ours_lost = 0
            for turn in range(20 * ROUNDS):
                if turn >= ROUNDS and os.path.exists(f"{stop}.enough"):  # a loaded machine may hold the writer up
                    break
                for act, state in ((home.confine, "confined"), (home.release, "unconfined")):
                    answer = act()
                    ours_lost += answer["problems"] != [] or home.servers()["fs"]["state"] != state
        finally:
            stop.touch()
        count, lost = json.loads(writer.stdout.read())
    assert count >= enough, "the writer was really at work"
    assert lost == 0
    if how == "locked":
        assert ours_lost == 0
    data = json.loads(file.read_text())
    assert data["count"] == count and len(data["mcpServers"]) == 1
    home.release()
    assert json.loads(file.read_text())["mcpServers"] == json.loads(CONFIG)["mcpServers"]


VICTIM = """
import sys
sys.path.insert(0, sys.argv[1])
from probe.clients import act
print(flush=True)
sys.stdin.readline()
for state in ["confined", "unconfined"] * 1000:
    act.set_state(sys.argv[2], {"state": state, "wrapper": "/usr/local/bin/mcp-confine"})
"""


def test_a_kill_leaves_the_old_file_or_the_new_one(home):
    file = home.put(".cursor/mcp.json", CONFIG)
    home.confine()
    wrapped = file.read_bytes()
    rng = random.Random(int(os.environ.get("MCP_CONFINE_SEED", "7")))
    for _ in range(KILLS):
        victim = subprocess.Popen(
            [sys.executable, "-c", VICTIM, ROOT, home.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert victim.stdin is not None and victim.stdout is not None
        victim.stdout.readline()
        victim.stdin.write(b"\n")
        victim.stdin.flush()
        time.sleep(rng.random() * 0.03)
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        assert file.read_bytes() in (CONFIG, wrapped)
        home.confine()
        assert file.read_bytes() == wrapped
        assert strays(file.parent) == []
        assert [
            name for name in os.listdir(f"{home.path}/.local/state/mcp-confine/edits") if name.startswith(".new-")
        ] == []
        home.release()
        assert file.read_bytes() == CONFIG
