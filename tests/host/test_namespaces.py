"""The staged attempt at a user namespace names the stage and the errno that it really met."""
from __future__ import annotations

import errno
import os

import pytest

from probe import users
from probe.host import attempt as attempt_source
from probe.host import child, namespaces
from probe.host.namespaces import STAGES

from . import filters
from .filters import ALLOW, ERRNO, KILL, observed_under

UNSHARE = {"x86_64": 272}.get(os.uname().machine, 97)


def attempt() -> dict:
    return namespaces.facts()["stages"]["value"]


@pytest.fixture
def works_here():
    if attempt()["failed"]:
        pytest.skip(f"no user namespaces here: {attempt()}")


def _under(*rows):
    def work():
        filters.install(list(rows))
        return attempt()

    return child.gather({"work": child.Work(work, 30)})["work"]["result"]


def test_all_stages_pass_without_a_filter(works_here, person):
    assert attempt() == {"passed": list(STAGES), "failed": None, "errno": None, "label": attempt()["label"]}
    assert users.run_as(users.named(person.name), attempt)["failed"] is None


def test_a_refused_namespace_is_the_first_stage(works_here):
    seen = _under((UNSHARE, None, ERRNO | errno.EPERM))
    assert (seen["failed"], seen["errno"], seen["passed"]) == (STAGES[0], "EPERM", [])


def test_a_killing_filter_is_told_from_a_refusing_one(works_here):
    assert _under((UNSHARE, None, KILL))["errno"] == "SIGSYS"


def test_a_namespace_that_may_not_be_mapped_is_not_called_a_namespace(works_here):
    seen = observed_under("uid_map")["namespaces.stages"]["value"]
    assert (seen["failed"], seen["errno"]) == ("write uid_map", "EPERM")
    assert seen["passed"] == list(STAGES[:2])


def test_an_allowing_filter_changes_nothing(works_here):
    assert _under((UNSHARE, None, ALLOW))["failed"] is None


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_an_exhausted_limit_is_told_by_its_errno(works_here):
    def work():
        import ctypes

        # The limit of a namespace of our own, so that the host's stays as it is.
        assert ctypes.CDLL(None).unshare(attempt_source.CLONE_NEWUSER) == 0
        with open("/proc/sys/user/max_user_namespaces", "w") as limit:
            limit.write("0")
        return namespaces.facts()

    seen = child.gather({"work": child.Work(work, 30)})["work"]["result"]
    assert (seen["stages"]["value"]["failed"], seen["stages"]["value"]["errno"]) == (STAGES[0], "ENOSPC")
    assert seen["most"]["value"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_in_a_chroot_the_kernel_refuses_and_we_know_where_we_are(works_here, tmp_path):
    import ctypes

    from probe.host import context

    def work():
        library = ctypes.CDLL(None, use_errno=True)
        folder = str(tmp_path)
        os.mkdir(f"{folder}/proc")
        assert library.unshare(attempt_source.CLONE_NEWNS) == 0
        assert (
            library.mount(b"none", b"/", None, ctypes.c_ulong(attempt_source.MS_SLAVE | attempt_source.MS_REC), None)
            == 0
        )
        assert library.mount(b"/proc", f"{folder}/proc".encode(), None, ctypes.c_ulong(4096), None) == 0  # MS_BIND
        os.chroot(folder)
        os.chdir("/")
        rootless = context._no_root(context.parse_mounts(open("/proc/self/mountinfo").read()))
        return {"stages": attempt(), "chroot": context.facts()["chroot"], "rootless": rootless}

    seen = child.gather({"work": child.Work(work, 30)})["work"]["result"]
    assert (seen["stages"]["failed"], seen["stages"]["errno"]) == (STAGES[0], "EPERM")
    assert seen["chroot"]["value"] is True
    assert seen["rootless"] is True  # what a user without privileges goes by
