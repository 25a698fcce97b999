"""The self-test hears of every act, also of those that end the process that tries them."""
from __future__ import annotations

import os
import signal

from probe.confine import acts


def refused(_places):
    raise PermissionError(13, "no")


def killed(_places):
    os.kill(os.getpid(), signal.SIGSYS)


def test_an_act_that_is_killed_takes_no_other_along(monkeypatch, tmp_path):
    monkeypatch.setattr(acts, "ACTS", {
        "first": ("files", lambda _places: None), "second": ("files", killed), "third": ("files", killed),
        "fourth": ("files", refused), "fifth": ("files", lambda places: places["nothing"]), "last": ("files", killed)})
    assert acts.outcomes({"private": str(tmp_path)}) == {
        "use_private_folder": "allowed", "first": "allowed", "second": "killed by signal 31",
        "third": "killed by signal 31", "fourth": "EACCES", "fifth": "KeyError", "last": "killed by signal 31"}
