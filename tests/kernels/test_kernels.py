"""What is promised, on the kernels themselves: every Landlock interface that Debian's kernels have."""
from __future__ import annotations

import re

import fetch
import page

from probe.confine import landlock

OFF = "7.1 off at boot"


def abi_of(name: str):
    return None if name == OFF else fetch.SERIES[name]


def test_the_kernel_answers_the_interface_that_its_version_has(booted, user):
    name, told = booted
    seen = told["users"][user]["self_test"]
    assert seen["abi"] == abi_of(name), seen
    if abi_of(name) is None:
        assert seen["errno"] == ("EOPNOTSUPP" if name == OFF else "ENOSYS")


def test_everything_called_enforced_was_seen_to_be(able, user):
    _, told = able
    for policy in ("self_test", "no_network", "ports"):
        seen = told["users"][user][policy]
        assert seen["passed"], f"{policy}: {seen}"
        assert seen["after_exec"], f"{policy}: the acts were not tried in a fresh program"
        files = {row["act"]: row for row in seen["acts"]}
        assert files["read_canary"]["without_us"] == "allowed" != files["read_canary"]["confined"]


def test_what_is_not_called_enforced_is_honestly_open(able):
    _, told = able
    for row in told["users"]["person"]["self_test"]["acts"]:
        if row["state"] in ("unavailable", "not restricted") and row["without_us"] == "allowed":
            assert row["confined"] == "allowed", f"{row['act']} is denied, and the plan does not say by what"


def test_a_server_starts_under_landlock_and_nothing_starts_without(booted, user):
    name, told = booted
    start = told["users"][user]["start"]
    if abi_of(name) is None:
        assert start["exit"] == 125 and start["stdout"] == "" and "nothing started" in start["stderr"]
    else:
        assert (start["exit"], start["stdout"], start["stderr"]) == (0, "started", "")


def test_the_wrapper_is_installed_only_where_it_proves_itself(booted):
    name, told = booted
    assert told["installed"] == (abi_of(name) is not None)
    if not told["installed"]:
        assert "did not pass its self-test here" in told["refusal"]


def test_the_probe_tells_the_truth_and_the_cure(booted, user):
    name, told = booted
    landlock_row = told["users"][user]["probe"]["mechanisms"]["landlock"]
    if name == OFF:
        assert landlock_row["state"] == "blocked" and "LANDLOCK_OFF_AT_BOOT" in landlock_row["codes"]
        text = " ".join(remedy["text"] for remedy in landlock_row["remedies"])
        line = re.search(r"lsm=([\w,]+)", text)[1].split(",")
        # Nothing that is on now may be lost; capability is always there and never named.
        assert line == ["landlock", *[module for module in told["lsm"].split(",") if module != "capability"]], text
    elif abi_of(name) is None:
        assert landlock_row["state"] == "absent" and "LANDLOCK_NOT_BUILT" in landlock_row["codes"]
        assert "lsm=" not in " ".join(remedy["text"] for remedy in landlock_row["remedies"])
    else:
        assert landlock_row["state"] in ("usable", "limited")
        assert landlock_row["evidence"]["abi"] == abi_of(name)


def test_where_user_namespaces_are_blocked_bubblewrap_fails_and_the_same_user_is_confined_all_the_same(able):
    name, told = able
    assert told["users"]["person"]["bwrap"]["exit"] == 0, "bubblewrap must work before, or this proves nothing"
    for way, seen in told["blocked"].items():
        if not seen["possible"]:
            # AppArmor mediates user namespaces from 6.7 on; the settings are Debian's and the kernel's own.
            assert "AppArmor" in way and abi_of(name) < 4, f"{way}: {seen}"
            continue
        if "AppArmor" in way and abi_of(name) < 4:
            continue
        assert seen["bwrap"]["exit"] != 0, f"{way}: {seen}"
        assert seen["start"]["stdout"] == "started" and seen["self_test"]["passed"], f"{way}: {seen}"
        assert seen["recommended"] == "landlock"
        assert seen["codes"] and "BUBBLEWRAP_USABLE" not in seen["codes"], f"{way}: {seen}"


def test_the_table_of_interfaces_names_every_kernel_that_was_booted():
    assert [abi for abi in fetch.SERIES.values() if abi] == sorted({abi for abi in fetch.SERIES.values() if abi})
    assert max(abi for abi in fetch.SERIES.values() if abi) <= landlock.NEWEST


def test_the_page_is_what_was_seen(lab, request):
    # A series newer than the table is booted and told of, and goes into the page when it gets its row.
    text = page.render({name: seen for name, seen in lab.items() if name in fetch.SERIES or name == OFF})
    if request.config.getoption("--write-page"):
        page.PATH.write_text(text)
    if not request.config.getoption("--series"):
        assert page.without_versions(page.PATH.read_text()) == page.without_versions(text), (
            "docs/kernels.md differs from what the kernels do; write it anew with --write-page")
