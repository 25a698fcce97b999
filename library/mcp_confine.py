#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

DOCUMENTATION = r"""
module: mcp_confine
short_description: Installs the wrapper that starts MCP servers under Landlock
description:
  - Puts C(mcp-confine) and its policies on a host, or takes them away.
  - A new wrapper proves itself on the host, as an unprivileged user, before it takes the place of the old one.
version_added: 0.1.0
author: mcp-confine contributors (@mcp-confine)
options:
  state:
    description: Whether the wrapper and the policies are there.
    type: str
    choices: [present, absent]
    default: present
  prefix:
    description:
      - Where C(bin/mcp-confine) and C(lib/mcp-confine) go.
      - C(/usr/local) for root and C(~/.local) for others when not set.
    type: path
  interpreter:
    description:
      - The Python that runs the wrapper, 3.9 or newer. When not set, the first of the host's that only root can change.
    type: path
  policies:
    description:
      - Policy texts by server name, one option a line.
      - A policy that an earlier run wrote and that is missing here is removed.
      - When not set, the policies on the host stay as they are.
      - What C(--setenv) sets is readable by every user of the host, so it is no place for a secret.
    type: dict
  policies_folder:
    description:
      - Where the policies go.
      - C(/etc/mcp-confine/policies) for root and C(~/.config/mcp-confine/policies) for others when not set.
    type: path
  users:
    description: Whose client entries and state count when the wrapper is taken away. V(auto) is everybody.
    type: list
    elements: str
    default: [auto]
  projects:
    description: Folders, or patterns of folders, whose C(.mcp.json)-style files count too.
    type: list
    elements: str
    default: []
  force:
    description:
      - With O(state=absent), take the wrapper away although client entries still start their servers through it.
    type: bool
    default: false
  remove_user_state:
    description:
      - With O(state=absent), also delete what confined servers stored in their private folders, and the undo records.
    type: bool
    default: false
attributes:
  check_mode:
    description: Predicts what the run does and writes nothing.
    support: full
  diff_mode:
    description: Shows the start script and the policies, without what C(--setenv) sets.
    support: full
"""

EXAMPLES = r"""
- name: Install the wrapper with a policy for one server
  mcp_confine:
    policies:
      filesystem: |
        --rw ~/notes
        --net none

- name: Take it away
  mcp_confine:
    state: absent
"""

RETURN = r"""
command:
  description: Path of the installed start script.
  returned: always
  type: str
  sample: /usr/local/bin/mcp-confine
interpreter:
  description: The Python that runs it.
  returned: when O(state=present)
  type: str
  sample: /usr/bin/python3
changes:
  description: What was changed, or would be.
  returned: always
  type: list
  elements: str
  sample: ["script /usr/local/bin/mcp-confine"]
kept:
  description: Policies that were written by an earlier run, were changed by hand since, and stay.
  returned: always
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.probe.fleet import wrapper  # noqa: E402
from ..module_utils.probe.safety import InstallRefused  # noqa: E402


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "prefix": {"type": "path"},
            "interpreter": {"type": "path"},
            "policies": {"type": "dict"},
            "policies_folder": {"type": "path"},
            "users": {"type": "list", "elements": "str", "default": ["auto"]},
            "projects": {"type": "list", "elements": "str", "default": []},
            "force": {"type": "bool", "default": False},
            "remove_user_state": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    try:
        result = wrapper.ensure(module.params, dry_run=module.check_mode)
    except InstallRefused as refusal:
        module.fail_json(msg=str(refusal))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
