"""Landlock at boot on each kind of host: written where that host reads it, once, and the old bytes back."""
from __future__ import annotations

import contextlib

import pytest

from probe import safety
from probe.boot import act
from tests.verdict.hosts import CONTAINER, known, unknown

from .hosts import ACTIVE, BY_HAND, HOSTS, NEW, BootRefused, lists, make

RECORD = "var/lib/mcp-confine/landlock-boot.json"


@pytest.fixture(params=HOSTS)
def tree(request, tmp_path):
    return make(tmp_path, HOSTS[request.param][0])


@pytest.fixture
def holders(request):
    return HOSTS[request.node.callspec.params["tree"]][1]


def test_the_list_is_written_once_and_the_undo_gives_every_byte_back(tree, holders):
    before = tree.files()
    predicted = tree.ensure(dry_run=True)
    assert (tree.files(), tree.ran) == (before, [])
    done = tree.ensure()
    assert done["changed"] and done["status"] == "pending" and done["lsm"] == NEW
    assert {**predicted, "reason": ""} == {**done, "reason": ""} and done["diff"]
    after = tree.files()
    for name in holders:
        assert lists(after[name]) in ([NEW], []) and (lists(after[name]) or b"$kernelopts" in after[name]), name
    again = tree.ensure()
    assert (again["changed"], again["status"], again["changes"], again["diff"]) == (False, "pending", [], [])
    assert tree.files() == after
    predicted, ran = tree.ensure("absent", dry_run=True), list(tree.ran)
    assert (tree.files(), tree.ran) == (after, ran)
    undone = tree.ensure("absent")
    assert undone == predicted and undone["changed"] and undone["expected"] == ACTIVE
    assert tree.files() == before
    assert not tree.ensure("absent")["changed"]


def test_what_grub_starts_has_every_module_and_no_second_list(tree, holders):
    tree.ensure()
    generated = tree.root / "boot/grub/grub.cfg"
    if not generated.exists():
        pytest.skip("another boot loader")
    rows = [row for row in generated.read_text().splitlines() if "linux /vmlinuz" in row]
    assert len(rows) == 2
    for row in rows:
        assert row.split().count(f"lsm={NEW}") == 1 and row.count(" lsm=") == 1, row


def test_a_command_that_fails_leaves_everything_as_it_was(tree):
    before = tree.files()

    def fail(command):
        raise BootRefused(f"`{command[0]}` failed: no space")

    if not tree.ensure(dry_run=True)["changes"][-1].startswith("run "):
        pytest.skip("no command is run there")
    with pytest.raises(BootRefused, match="failed: no space"):
        tree.ensure(run=fail)
    assert {name: text for name, text in tree.files().items() if name != RECORD} == before
    assert tree.ensure()["status"] == "pending"
    tree.ensure("absent")
    assert tree.files() == before


@pytest.mark.parametrize("moment", range(6))
def test_killed_at_any_write_or_command_the_next_run_goes_on_and_the_undo_still_gives_the_old_bytes(
        tree, moment, monkeypatch):
    before, real, left = tree.files(), safety.write, [moment]

    class Killed(BaseException):
        pass

    def write(*arguments):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        real(*arguments)

    run = type(tree).run

    def killed_run(self, command):
        if left[0] == 0:
            raise Killed
        left[0] -= 1
        run(self, command)
        if left[0] == 0:
            raise Killed

    monkeypatch.setattr(safety, "write", write)
    monkeypatch.setattr(type(tree), "run", killed_run)
    with contextlib.suppress(Killed):  # late moments are after the end
        tree.ensure()
    monkeypatch.undo()
    assert tree.ensure()["status"] == "pending"
    again = tree.ensure()
    assert not again["changed"], again
    assert act.recorded(str(tree.root))["phase"] == "written"
    tree.ensure("absent")
    assert tree.files() == before


def test_after_the_boot_with_landlock_nothing_changes_and_a_lost_module_is_told_with_the_undo(tree):
    tree.ensure()
    tree.started()
    on = {"landlock.abi": known(6), "lsm.active": known(["capability", "landlock", *ACTIVE[1:]])}
    answer = tree.ensure(**on)
    assert (answer["changed"], answer["status"]) == (False, "on")
    with pytest.raises(BootRefused, match=r"are off: apparmor\. .*undo-landlock-at-boot"):
        tree.ensure(**{**on, "lsm.active": known(["capability", "landlock", "lockdown", "yama", "bpf"])})


def test_a_boot_that_did_not_use_the_list_is_told(tree):
    tree.ensure()
    tree.started()
    with pytest.raises(BootRefused, match="without it: another loader or entry"):
        tree.ensure()
    with pytest.raises(BootRefused, match="did not switch Landlock on"):
        tree.ensure(**{"boot.parameters": known({"lsm": NEW})})


@pytest.mark.parametrize("name", BY_HAND)
def test_where_the_list_cannot_be_written_the_run_fails_with_the_line_and_changes_nothing(tmp_path, name):
    files, piece = BY_HAND[name]
    tree = make(tmp_path, files)
    before = tree.files()
    with pytest.raises(BootRefused) as refusal:
        tree.ensure()
    assert piece in str(refusal.value) and f"lsm={NEW}" in str(refusal.value)
    assert (tree.files(), tree.ran) == (before, [])


@pytest.mark.parametrize("overlay, status", [
    ({"landlock.abi": known(1)}, "on"),
    ({"landlock.abi": unknown("ENOSYS")}, "nothing_to_do"),
    ({"landlock.abi": unknown("EPERM")}, "nothing_to_do"),
    ({"landlock.abi": unknown("SIGSYS")}, "nothing_to_do"),
    ({"landlock.abi": unknown("no answer")}, "nothing_to_do"),
    ({"context.wsl": known(1)}, "nothing_to_do"),
    ({**CONTAINER, "lsm.active": known(ACTIVE)}, "nothing_to_do"),
    ({"boot.parameters": known({"lsm": NEW})}, "nothing_to_do"),
])
def test_where_no_list_would_help_nothing_is_done_and_the_reason_is_told(tree, overlay, status):
    before = tree.files()
    answer = tree.ensure(**overlay)
    assert (answer["changed"], answer["status"], tree.files(), tree.ran) == (False, status, before, [])
    assert answer["reason"]


@pytest.mark.parametrize("overlay, piece", [
    ({"context.wsl": known(2)}, r"\.wslconfig"),
    ({"lsm.active": unknown("securityfs is not mounted")}, "mount -t securityfs"),
])
def test_without_the_list_or_with_windows_as_the_loader_a_person_is_asked(tree, overlay, piece):
    before = tree.files()
    with pytest.raises(BootRefused, match=piece):
        tree.ensure(**overlay)
    assert tree.files() == before


# -- what else happens on a host

def test_a_kernel_that_came_between_keeps_its_entry_and_loses_only_the_word(tmp_path):
    tree = make(tmp_path, HOSTS["systemd-boot"][0])
    tree.ensure()
    entries = tmp_path / "boot/efi/loader/entries"
    (entries / "a+3.conf").rename(entries / "a.conf")  # a boot that was counted and went well
    (entries / "b.conf").write_text((entries / "a.conf").read_text().replace("6.9", "6.10"))
    tree.ensure("absent")
    assert lists((entries / "a.conf").read_bytes()) == lists((entries / "b.conf").read_bytes()) == []
    assert "version 6.10\n" in (entries / "b.conf").read_text()


def test_what_somebody_changed_since_stays_and_their_old_list_comes_back(tmp_path):
    tree = make(tmp_path, {**HOSTS["systemd-boot"][0], "/etc/kernel/cmdline": "ro lsm=yama\n"})
    tree.ensure()
    line = tmp_path / "etc/kernel/cmdline"
    line.write_text(line.read_text().replace("ro", "rw debug"))
    tree.ensure("absent")
    assert line.read_text() == "rw debug lsm=yama\n"


def test_a_file_that_is_read_later_moves_the_drop_in_behind_it(tmp_path):
    tree = make(tmp_path, HOSTS["Debian"][0])
    tree.ensure()
    (tmp_path / "etc/default/grub.d/zzz.cfg").write_text('GRUB_CMDLINE_LINUX="lsm=yama"\n')
    done = tree.ensure()
    assert done["changed"]
    assert sorted(path.name for path in (tmp_path / "etc/default/grub.d").iterdir()) == [
        "zzz.cfg", "zzzz-landlock.cfg"]
    assert not tree.ensure()["changed"]
    tree.ensure("absent")
    assert [path.name for path in (tmp_path / "etc/default/grub.d").iterdir()] == ["zzz.cfg"]


def test_a_list_by_somebody_else_that_waits_is_theirs_unless_it_switches_something_off(tmp_path):
    own = "lsm=landlock,lockdown,yama,bpf,apparmor"
    tree = make(tmp_path / "a", {"/usr/sbin/update-grub": "!", "/etc/default/grub": GRUB_WITH.format(own)})
    assert tree.ensure()["status"] == "pending" and tree.ran == []
    tree = make(tmp_path / "b", {"/usr/sbin/update-grub": "!", "/etc/default/grub": GRUB_WITH.format("lsm=landlock")})
    with pytest.raises(BootRefused, match="switch off lockdown, yama, bpf, apparmor"):
        tree.ensure()


GRUB_WITH = 'GRUB_CMDLINE_LINUX="{}"\n'


def test_no_other_word_of_a_command_line_is_shown(tmp_path):
    tree = make(tmp_path, {"/boot/firmware/cmdline.txt": "console=tty1 rd.luks.key=sesame\n"})
    assert "sesame" not in str(tree.ensure()) + str(tree.ensure("absent", dry_run=True))
    assert (tmp_path / RECORD).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / RECORD).parent.stat().st_mode & 0o777 == 0o700
