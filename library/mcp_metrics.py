#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

DOCUMENTATION = r"""
module: mcp_metrics
short_description: Leaves what a run found on a host for node_exporter
description:
  - Writes C(mcp_confine.prom) into a folder from which node_exporter's textfile collector reads.
  - The file is the old one or the new one at any moment.
version_added: 0.1.0
author: mcp-confine contributors (@mcp-confine)
options:
  state:
    description: Whether the file is there.
    type: str
    choices: [present, absent]
    default: present
  folder:
    description: What node_exporter was given as C(--collector.textfile.directory). It must be there.
    type: path
    required: true
  results:
    description:
      - What the modules returned for this host, each under the name of its step.
      - C(observed) by C(landlock_probe), C(installed) by C(mcp_confine), C(configured) and C(set_back) by
        C(mcp_launch_config), C(proved) by C(mcp_denial_check). One that did not run is left out or empty.
    type: dict
    default: {}
attributes:
  check_mode:
    description: Predicts what the run does and writes nothing.
    support: full
  diff_mode:
    description: Shows the metrics that differ, without the times.
    support: full
notes:
  - The times in the file are those of the run. Only another difference counts as a change.
"""

EXAMPLES = r"""
- name: Leave what was found for node_exporter
  mcp_metrics:
    folder: /var/lib/prometheus/node-exporter
    results:
      observed: "{{ probed }}"
      configured: "{{ configured }}"
      proved: "{{ proved }}"
"""

RETURN = r"""
path:
  description: The file.
  returned: always
  type: str
  sample: /var/lib/prometheus/node-exporter/mcp_confine.prom
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.probe.fleet import metrics  # noqa: E402


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "folder": {"type": "path", "required": True},
            "results": {"type": "dict", "default": {}},
        },
        supports_check_mode=True,
    )
    try:
        if module.params["state"] == "present":
            result = metrics.leave(module.params["folder"], module.params["results"], module.check_mode)
        else:
            result = metrics.remove(module.params["folder"], module.check_mode)
    except metrics.MetricsRefused as refusal:
        module.fail_json(msg=str(refusal))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
