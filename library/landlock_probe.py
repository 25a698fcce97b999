#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

DOCUMENTATION = r"""
module: landlock_probe
short_description: Tells which isolation really works on a Linux host
description:
  - Observes the host as each user who could launch an MCP server and judges Landlock, bubblewrap, Docker and Podman.
  - Landlock counts as usable only after a forked self-test saw an allowed access work and a forbidden one fail.
  - Changes nothing.
version_added: 0.1.0
author: mcp-confine contributors (@mcp-confine)
options:
  users:
    description:
      - Whose point of view. V(auto) is root, if it runs the module, and everybody who can log in and has a home.
    type: list
    elements: str
    default: [auto]
  projects:
    description:
      - Folders, or patterns of folders, whose C(.mcp.json)-style files count too. V(~) is the home of each user.
      - A folder counts for the user who owns it.
    type: list
    elements: str
    default: []
  require:
    description:
      - Fail, with codes and remedies, unless all of these are usable for all of the users.
    type: list
    elements: str
    choices: [landlock, bubblewrap, docker, podman]
    default: []
  facts:
    description: Return what was observed for each user, too; a few tens of kilobytes each.
    type: bool
    default: false
  report:
    description: Return the verdict of each user as text for people, too.
    type: bool
    default: false
attributes:
  check_mode:
    description: Looks only, so check mode is the same.
    support: full
  diff_mode:
    description: Changes nothing.
    support: none
"""

EXAMPLES = r"""
- name: Look at the host
  landlock_probe:
  register: probed

- name: Stop where Landlock does not work for the developers
  landlock_probe:
    users: [ada, grace]
    require: [landlock]
"""

RETURN = r"""
verdict:
  description: The worst verdict of all users.
  returned: always
  type: str
  sample: usable
users:
  description: The verdict of each user, or an C(error), and the C(facts) if O(facts=true).
  returned: always
  type: list
  elements: dict
  sample:
    - user: ada
      verdict:
        schema: 1
        verdict: usable
        recommended: landlock
distribution:
  description: What the operating system calls itself.
  returned: always
  type: dict
  sample: {id: debian, version: "12", name: Debian GNU/Linux, like: []}
seen:
  description: What the host calls itself, and the time there, in UTC.
  returned: always
  type: dict
  sample: {node: ws001, time: "2026-01-31T09:30:00Z"}
unmet:
  description: Why something in O(require) is not usable for a user, with the codes and the narrowest remedy.
  returned: always
  type: list
  elements: str
  sample: ["landlock is blocked for ada: LANDLOCK_OFF_AT_BOOT"]
report:
  description: The verdict of each user as text.
  returned: when O(report=true)
  type: dict
  sample: {ada: "usable"}
"""

from ansible.module_utils import distro  # noqa: E402
from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.probe.fleet import observe  # noqa: E402


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "users": {"type": "list", "elements": "str", "default": ["auto"]},
            "projects": {"type": "list", "elements": "str", "default": []},
            "require": {"type": "list", "elements": "str", "default": [],
                        "choices": ["landlock", "bubblewrap", "docker", "podman"]},
            "facts": {"type": "bool", "default": False},
            "report": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    distribution = {"id": distro.id(), "version": distro.version(), "name": distro.name(),
                    "like": distro.like().split()}
    result = observe.observe(module.params["users"], distribution, module.params["projects"])
    result.update(changed=False, distribution=distribution, unmet=observe.unmet(result, module.params["require"]))
    if module.params["report"]:
        result["report"] = observe.texts(result)
    if not module.params["facts"]:
        for answer in result["users"]:
            answer.pop("facts", None)
    if result["unmet"]:
        module.fail_json(msg="; ".join(result["unmet"]), **result)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
