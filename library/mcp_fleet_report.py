# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

DOCUMENTATION = r"""
module: mcp_fleet_report
short_description: Writes the report on all hosts of a play
description:
  - Writes C(fleet.html) and C(fleet.json) on the controller, from what the modules returned for the hosts of the play.
  - A host that failed, that could not be reached, or whose turn has not come is in it as such.
  - Hosts of the inventory that the play leaves out keep what the last report said of them, with its time.
  - Takes its data from the variables that the role C(mcp_confine) registers. Run it once, after that role's tasks.
version_added: 0.1.0
author: mcp-confine contributors (@mcp-confine)
options:
  folder:
    description: Where the files go, on the controller. A relative path starts at the working directory.
    type: path
    required: true
attributes:
  action:
    description: Runs on the controller alone.
    support: full
  check_mode:
    description: Writes nothing.
    support: full
  diff_mode:
    description: Not supported, the report has its own time and differs every time.
    support: none
notes:
  - A report is what a run says, not the state of a host, so writing it never counts as a change.
  - A report that cannot be written is a warning. The hosts are as they are.
"""

EXAMPLES = r"""
- name: Write the report
  mcp_fleet_report:
    folder: reports
  run_once: true
"""

RETURN = r"""
path:
  description: The page, if it was written.
  returned: success
  type: str
  sample: /srv/ansible/reports/fleet.html
summary:
  description: The fleet in one look, as docs/fleet.schema.json describes it.
  returned: success
  type: dict
"""
