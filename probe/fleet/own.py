"""This host's own record, as a run of `verify-denial.yml` over it would make it."""
from __future__ import annotations

import os

from ..report import record
from . import configure, observe, prove
from .users import Answer, seen


def look(distribution: Answer, projects: list[str], check: bool, timeout: float) -> record.Record:
    """The record of this host, for all of its users as root and for oneself otherwise; with `check` each confined
    server is started and its denials are proved. Nothing is changed."""
    results = {"observed": {**observe.observe("auto", distribution, projects), "distribution": distribution}}
    if check:
        wish = {"state": "confined", "wrapper": None, "clients": None, "servers": None, "projects": projects,
                "include_tracked": False, "dry_run": True, "refused": None}
        results["configured"] = configure.configure("auto", wish)
        results["proved"] = prove.prove("auto", {"wrapper": None, "servers": None, "projects": projects,
                                                 "timeout": timeout, "expected": [], "max_age": 0.0})
    return record.of_host(os.uname().nodename, results, seen()["time"])
