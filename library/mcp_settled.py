#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

DOCUMENTATION = r"""
module: mcp_settled
short_description: Tells whether a host is already as an enabling run would leave it
description:
  - Asks in one call what C(landlock_probe), C(mcp_confine), C(mcp_launch_config) and C(mcp_denial_check) would find, so
    that a run over hosts on which nothing changed costs one call a host.
  - Landlock proves itself anew for each user. No server is started, since each one's proof must be remembered from an
    earlier run of C(mcp_denial_check).
  - Changes nothing.
version_added: 0.1.0
author: mcp-confine contributors (@mcp-confine)
options:
  users:
    description: Whose servers. V(auto) is root, if it runs the module, and everybody who can log in and has a home.
    type: list
    elements: str
    default: [auto]
  projects:
    description: Folders, or patterns of folders, whose C(.mcp.json)-style files count too.
    type: list
    elements: str
    default: []
  clients:
    description: Only the files of these clients. All that are known when not set.
    type: list
    elements: str
  servers:
    description: Only these servers, each as C(NAME) or C(CLIENT:NAME). All when not set.
    type: list
    elements: str
  include_tracked:
    description: Also the files that are under version control.
    type: bool
    default: false
  prefix:
    description: Where the wrapper is. C(/usr/local) for root and C(~/.local) for others when not set.
    type: path
  interpreter:
    description: The Python that runs the wrapper, as in C(mcp_confine).
    type: path
  policies:
    description: Policy texts by server name, as in C(mcp_confine).
    type: dict
  policies_folder:
    description: Where the policies are, as in C(mcp_confine).
    type: path
  max_age:
    description: Seconds for which a proof counts, as in C(mcp_denial_check).
    type: float
    default: 86400
attributes:
  check_mode:
    description: Looks only, so check mode is the same.
    support: full
  diff_mode:
    description: Changes nothing.
    support: none
"""

EXAMPLES = r"""
- name: Look whether anything is to do
  mcp_settled:
  register: looked

- name: Do it
  ansible.builtin.include_tasks: enable_this_host.yml
  when: not looked.settled
"""

RETURN = r"""
settled:
  description: Whether nothing is to do, nothing is left open, and every confined server is proved.
  returned: always
  type: bool
reason:
  description: What is to do first.
  returned: when not RV(settled)
  type: str
  sample: "to do: ada: claude-code:filesystem"
probed:
  description: What C(landlock_probe) returns.
  returned: when RV(settled)
  type: dict
configured:
  description: What C(mcp_launch_config) returns.
  returned: when RV(settled)
  type: dict
proved:
  description: What C(mcp_denial_check) returns, every proof remembered.
  returned: when RV(settled)
  type: dict
"""

from ansible.module_utils import distro  # noqa: E402
from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.probe.fleet import settled  # noqa: E402
from ..module_utils.probe.safety import InstallRefused  # noqa: E402


def main() -> None:
    words = {"type": "list", "elements": "str"}
    module = AnsibleModule(
        argument_spec={
            "users": {**words, "default": ["auto"]},
            "projects": {**words, "default": []},
            "clients": words,
            "servers": words,
            "include_tracked": {"type": "bool", "default": False},
            "prefix": {"type": "path"},
            "interpreter": {"type": "path"},
            "policies": {"type": "dict"},
            "policies_folder": {"type": "path"},
            "max_age": {"type": "float", "default": 86400.0},
        },
        supports_check_mode=True,
    )
    distribution = {"id": distro.id(), "version": distro.version(), "name": distro.name(),
                    "like": distro.like().split()}
    wrapper = f"{module.params['prefix']}/bin/mcp-confine" if module.params["prefix"] else None
    try:
        result = settled.look({**module.params, "wrapper": wrapper}, distribution)
    except (InstallRefused, ValueError) as problem:
        result = {"settled": False, "reason": str(problem)}  # the module whose business it is says it as its failure
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
