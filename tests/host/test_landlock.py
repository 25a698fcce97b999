"""What the kernel and those around us answer about Landlock, told apart for real."""
from __future__ import annotations

import os

import pytest

from probe.confine import landlock as calls
from probe.host import child, landlock

from .filters import observed_under


def test_without_a_filter_the_kernel_answers_and_lets_a_child_restrict_itself(landlock_abi):
    seen = landlock.facts()
    assert seen["abi"]["value"] == landlock_abi
    assert seen["restrict"]["value"] == {"stage": None, "errno": None}
    # Nothing of that reached this process.
    assert os.listdir("/")


@pytest.mark.parametrize("answer, why", [
    ("ENOSYS", "ENOSYS"), ("EPERM", "EPERM"), ("EOPNOTSUPP", "EOPNOTSUPP"), ("EACCES", "EACCES"), ("kill", "SIGSYS")])
def test_each_refusal_has_its_own_name(answer, why):
    fact = observed_under(answer)["landlock.abi"]
    assert (fact["state"], fact["why"]) == ("unknown", why)


def test_the_seventeenth_layer_is_told_by_its_errno(landlock_abi):
    def work():
        used = min(landlock_abi, calls.NEWEST)
        for _ in range(16):
            calls.restrict(calls.create_ruleset(calls.mask("make_block"), 0, 0), used)
        return landlock.facts()["restrict"]["value"]

    seen = child.gather({"work": child.Work(work, 30)})["work"]["result"]
    assert seen == {"stage": "restrict", "errno": "E2BIG"}


def test_the_rights_of_an_older_kernel_do_not_hold_those_of_a_newer():
    # A report blamed a kernel with ABI 4 for refusing the right to device ioctls, which ABI 5 brought.
    ioctl = calls.mask("ioctl_dev")
    assert not calls.known(calls.FILE_RIGHTS, 4) & ioctl
    assert calls.known(calls.FILE_RIGHTS, 5) & ioctl


def test_the_self_test_runs_where_the_user_may_write(person, landlock_abi):
    from probe import users

    fact = users.run_as(users.named(person.name), landlock.self_test, person.home)
    assert fact["state"] == "known" and fact["value"]["passed"], fact
    assert fact["value"]["folder"] == person.home
    assert os.listdir(person.home) == []


@pytest.mark.parametrize("folder", ["/proc", "/no/such/folder"])
def test_where_nothing_can_be_written_nothing_is_claimed(folder):
    seen = child.gather({"work": child.Work(lambda: landlock.self_test(folder), 60)})["work"]["result"]["value"]
    assert not seen["passed"] and seen["stages"] == [] and folder in seen["reason"]


def test_only_other_file_systems_are_tested_beside_the_home():
    assert landlock.other_file_systems("/", ["/", "/proc", "/proc/sys", "/no/such/folder"]) == ["/proc"]
