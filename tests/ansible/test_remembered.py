"""A proof counts while nothing changed that its outcome depends on; then, and where nobody can trust it, it is none."""
from __future__ import annotations

import json
import os
import pwd
import time

import pytest
from playground import FAKE_SERVER, SYSTEM_PYTHON

HUSH = "sesame-open-9127"
# Each start leaves a line in the server's private home, which is the only place it can write to.
COUNTING = 'import os\nopen(os.path.expanduser("~/starts"), "a").write("x")\n' + FAKE_SERVER


class Counted:
    """A user with one server that counts its starts."""

    def __init__(self, person, place) -> None:
        self.person = person
        self.script = person.write("servers/counting.py", COUNTING, 0o644)
        self.memory = place / "prefix/lib/mcp-confine/proofs.json"
        self.entry(HUSH)

    def entry(self, token: str) -> None:
        self.person.claude({"count": {"command": SYSTEM_PYTHON, "args": [str(self.script)], "env": {"TOKEN": token}}})

    def starts(self) -> int:
        return sum(len(file.read_text()) for file in
                   (self.person.home / ".local/state/mcp-confine/servers").glob("count/**/starts"))


@pytest.fixture
def counted(people, place, play):
    """One that was enabled, so started once."""
    [person] = people()
    server = Counted(person, place)
    done = play("enable-landlock.yml", users=[person])
    assert done.status == 0 and server.starts() == 1, done.text
    return server


def enable(play, counted, **variables):
    done = play("enable-landlock.yml", users=[counted.person], **variables)
    assert done.status == 0, done.text
    return done


def test_a_run_without_a_change_starts_no_server_and_says_when_it_was_proved(counted, play):
    done = enable(play, counted)
    assert counted.starts() == 1
    assert done.recap["this"]["changed"] == 0
    [row] = json.loads(counted.memory.read_text())["proofs"].values()
    told = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(row["proved_at"]))
    assert "1 proved in an earlier run" in done.text and told in done.text
    predicted = play("enable-landlock.yml", "--check", users=[counted.person])
    assert "1 proved in an earlier run" in predicted.text and predicted.recap == done.recap


def test_verify_starts_every_server_whatever_is_remembered(counted, play):
    done = play("verify-denial.yml", users=[counted.person])
    assert done.status == 0, done.text
    assert counted.starts() == 2 and "earlier run" not in done.text


def test_a_maximum_age_of_zero_starts_every_server(counted, play):
    enable(play, counted, mcp_confine_proof_max_age=0)
    assert counted.starts() == 2


def touched(counted, place):
    os.utime(counted.script)


def other_value(counted, place):
    text = (counted.person.home / ".claude.json").read_text()
    counted.person.write(".claude.json", text.replace(HUSH, HUSH[::-1]))


def own_policy(counted, place):
    counted.person.write(".config/mcp-confine/policies/count", "--net none\n")


@pytest.mark.parametrize("change", [touched, other_value, own_policy])
def test_what_the_outcome_depends_on_changed_so_it_is_proved_again(counted, play, place, change):
    change(counted, place)
    enable(play, counted)
    assert counted.starts() == 2
    enable(play, counted)
    assert counted.starts() == 2


def test_a_server_that_works_no_more_is_found_by_verify_and_then_not_remembered(counted, play):
    before = counted.script.read_text()
    times = counted.script.stat()
    settings = counted.person.write("settings", "")
    counted.person.write("servers/counting.py", f"open({str(settings)!r})\n" + before, 0o644)
    assert play("verify-denial.yml", users=[counted.person]).status != 0
    counted.script.write_text(before)  # and back, as nearly as one can
    os.utime(counted.script, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert "earlier run" not in enable(play, counted).text


def foreign_owner(memory, row):
    os.chown(memory, pwd.getpwnam(row["user"]).pw_uid, -1)


def readable(memory, row):
    os.chmod(memory, 0o644)


def writable_folder(memory, row):
    os.chmod(memory.parent, 0o777)


def a_link(memory, row):
    memory.rename(memory.with_name("elsewhere"))
    memory.symlink_to("elsewhere")


def garbage(memory, row):
    memory.write_bytes(b'{"schema": 1, "proofs": [' * 5000)


def old(memory, row):
    written(memory, proved_at=time.time() - 90000)


def from_the_future(memory, row):
    written(memory, proved_at=time.time() + 3600)


def another_users(memory, row):
    written(memory, user="root")


def not_passed(memory, row):
    written(memory, passed="yes")


def written(memory, **values):
    record = json.loads(memory.read_text())
    for row in record["proofs"].values():
        row.update(values)
    memory.write_text(json.dumps(record))


@pytest.mark.parametrize("spoil", [foreign_owner, readable, writable_folder, a_link, garbage, old, from_the_future,
                                   another_users, not_passed])
def test_a_memory_that_cannot_be_trusted_is_none(counted, play, spoil):
    [row] = json.loads(counted.memory.read_text())["proofs"].values()
    spoil(counted.memory, row)
    # The folder's owner and mode are the wrapper's business too, and it is refused there.
    done = play("enable-landlock.yml", users=[counted.person])
    assert "earlier run" not in done.text
    assert counted.starts() == 2 or (spoil is writable_folder and "others could change" in done.text), done.text


def test_no_value_is_remembered_and_nobody_else_reads_what_is(counted):
    state = counted.memory.stat()
    assert (state.st_uid, state.st_mode & 0o777) == (0, 0o600)
    assert HUSH not in counted.memory.read_text() and str(counted.script) not in counted.memory.read_text()


def test_disable_takes_the_memory_away(counted, play):
    assert play("disable-landlock.yml", users=[counted.person]).status == 0
    assert not counted.memory.exists()
    enable(play, counted)
    assert counted.starts() == 2


def test_a_user_without_root_remembers_too(people, place, play):
    [person] = people()
    server = Counted(person, place)
    server.memory = person.home / ".local/lib/mcp-confine/proofs.json"
    hosts = {"this": {"ansible_connection": "local", "ansible_become": True, "ansible_become_user": person.name,
                      "ansible_become_method": "su"}}
    for _ in range(2):
        done = play("enable-landlock.yml", users=[person], hosts=hosts, mcp_confine_prefix="", mcp_confine_become=True)
        assert done.status == 0, done.text
    assert server.starts() == 1 and "1 proved in an earlier run" in done.text
    assert server.memory.owner() == person.name and server.memory.stat().st_mode & 0o777 == 0o600
