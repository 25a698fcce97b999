# SPDX-License-Identifier: Apache-2.0
"""The controller's half of M(mcp_fleet_report), which has no other: from the play's variables to the report's files."""
from __future__ import annotations

import os
import sys
import time

from ansible.plugins.action import ActionBase

try:
    from ..module_utils.probe.report import files, fleet, record  # in a collection
except ImportError:
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3)))
    from probe.report import files, fleet, record

# Step of a run: the variable in which the role keeps what it returned.
REGISTERED = {"observed": "mcp_confine_probed", "installed": "mcp_confine_installed",
              "configured": "mcp_confine_configured", "proved": "mcp_confine_proved",
              "set_back": "mcp_confine_set_back"}
FIRST_LOOK = "mcp_confine_settled"


class ActionModule(ActionBase):
    """Writes the report."""

    TRANSFERS_FILES = False
    _requires_connection = False
    _VALID_ARGS = frozenset(["folder"])

    def run(self, tmp=None, task_vars=None):
        result = super().run(tmp, task_vars)
        _, wish = self.validate_argument_spec({"folder": {"type": "path", "required": True}})
        now = record.iso(time.time())
        looked_first = "mcp_confine_looked_first" in task_vars
        records = [record.of_host(str(host), steps(task_vars["hostvars"][host], looked_first), now,
                                  waiting=_waits(host, task_vars))
                   for host in task_vars["ansible_play_hosts_all"]]
        inventory = [str(host) for host in task_vars["groups"]["all"]]
        folder = os.path.abspath(wish["folder"])
        result.update(changed=False, path=os.path.join(folder, files.PAGE), warnings=[])
        if self._task.check_mode:
            result.update(path=None, summary=fleet.summary(records))
            return result
        try:
            document, warnings = files.leave(folder, records, inventory, now)
            result.update(summary=document["summary"], warnings=warnings)
        except files.NotWritten as problem:
            result.update(path=None, summary=fleet.summary(records), warnings=[str(problem)])
        return result


def steps(variables, looked_first):
    """What the modules returned for a host, by step; with `looked_first` what the first look found goes before it."""
    settled = (variables.get(FIRST_LOOK) if looked_first else None) or {}
    if settled.get("settled"):
        return {"observed": settled["probed"], "configured": settled["configured"], "proved": settled["proved"]}
    if settled.get("failed") or settled.get("unreachable"):
        return {"observed": settled}
    return {step: variables.get(name) or {} for step, name in REGISTERED.items()}


def _waits(host, task_vars):
    return host in task_vars["ansible_play_hosts"] and host not in task_vars["ansible_play_batch"]
