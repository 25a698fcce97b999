"""A host that was started without Landlock, put right by the role, started again, and given back: on a real kernel."""
from __future__ import annotations

import base64

import fetch
import guest
import pytest
import rebooted

SERIES = "7.1"
OLD = "root=/dev/vda1 ro rdinit=/init panic=-1 console=ttyS0 lsm=yama,apparmor"


@pytest.fixture(scope="module")
def starts(request, tmp_path_factory):
    """What the guest answered at its first start and at the second, and the disk before."""
    chosen = request.config.getoption("--series").split()
    if chosen and SERIES not in chosen:
        pytest.skip(f"only {', '.join(chosen)} was asked for")
    guest.base()
    guest.tree()
    image, _ = fetch.kernel(SERIES, fetch.series_of(fetch.index()))
    place, disk = tmp_path_factory.mktemp("rebooted"), rebooted.disk()
    first = rebooted.start(image, OLD, disk, place)
    second = rebooted.start(image, first["words_after"], first["disk"], place)
    return first, second, disk


def test_before_it_landlock_is_off_and_the_two_others_are_on(starts):
    first, _, _ = starts
    assert first["words"] == first["cmdline"] == OLD, "GRUB's scripts must make the line that the guest started with"
    assert {"capability", "yama", "apparmor"} <= set(first["lsm"]) and "landlock" not in first["lsm"]
    assert first["apparmor"] == "Y" and first["ptrace_scope"]


def test_the_role_writes_what_it_predicts_and_waits_for_the_reboot(starts):
    first, _, _ = starts
    assert first["unchanged"] and first["written"]
    assert first["predicted"] == {**first["done"], "changed": True}
    assert (first["done"]["code"], first["done"]["status"]) == ("LANDLOCK_OFF_AT_BOOT", "pending"), first["done"]
    assert (first["again"]["changed"], first["again"]["status"]) == (False, "pending")
    assert first["again"]["code"] == "LANDLOCK_REBOOT_PENDING"


def test_grubs_own_scripts_make_one_list_of_it_and_lose_no_other_word(starts):
    first, _, _ = starts
    said = first["words_after"].split()
    kept = ",".join(name for name in first["lsm"] if name != "capability")
    assert [word for word in said if word.startswith("lsm=")] == [f"lsm=landlock,{kept}"]
    assert sorted(word for word in said if not word.startswith("lsm=")) == sorted(
        word for word in OLD.split() if not word.startswith("lsm="))


def test_after_the_reboot_landlock_is_on_and_proved_and_nothing_else_went_away(starts):
    first, second, _ = starts
    assert second["cmdline"] == first["words_after"]
    assert set(second["lsm"]) == {*first["lsm"], "landlock"}
    assert second["apparmor"] == "Y" and second["ptrace_scope"]
    assert second["self_test"] == {"passed": True, "abi": fetch.SERIES[SERIES], "reason": None}
    assert (second["done"]["changed"], second["done"]["status"]) == (False, "on")


def test_the_undo_gives_the_old_bytes_and_the_old_command_line_back(starts):
    first, second, disk = starts
    assert second["undone"]["changed"] and second["undone"]["expected"] == first["lsm"]
    held = {path: base64.b64decode(text) for path, text in second["disk_undone"].items()}
    ours = ("/etc/default/grub", "/boot/vmlinuz", "/var/lib/mcp-confine")
    assert {path: text for path, text in held.items() if path.startswith(ours)} == disk
    assert second["words_undone"] == OLD
