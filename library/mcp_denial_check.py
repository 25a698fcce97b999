#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

DOCUMENTATION = r"""
module: mcp_denial_check
short_description: Proves that confined MCP servers work and are denied what they must not have
description:
  - Starts each confined server of each user as its client would, and completes an MCP handshake.
  - Then tries forbidden acts in the same confinement, after it has seen that each works without it.
  - In check mode nothing is started, and the result lists what would be.
version_added: 0.1.0
author: mcp-confine contributors (@mcp-confine)
options:
  users:
    description: Whose servers. V(auto) is root, if it runs the module, and everybody who can log in and has a home.
    type: list
    elements: str
    default: [auto]
  wrapper:
    description:
      - The path of the installed wrapper.
      - C(/usr/local/bin/mcp-confine) for root and C(~/.local/bin/mcp-confine) for others when not set.
    type: path
  servers:
    description: Only these servers, each as C(NAME) or C(CLIENT:NAME). All that are confined when not set.
    type: list
    elements: str
  projects:
    description: Folders, or patterns of folders, whose C(.mcp.json)-style files count too.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds until a server must have answered. The first start of a server may have to download it.
    type: float
    default: 120
  expected:
    description:
      - Entries that must be confined, each with C(user), C(client), C(file) and C(server).
      - The returned C(servers) of C(mcp_launch_config) are such. One that is not confined any more is a failure.
    type: list
    elements: dict
    default: []
  max_age:
    description:
      - Seconds for which an earlier proof of a server counts, and its server is not started. V(0) proves every server.
      - It counts only while nothing changed that its outcome depends on, that is the entry and the variables of the
        start, the files on its command line, the wrapper, the policies, the kernel and the user's groups.
      - Proofs are kept beside the wrapper, where users cannot write, for 30 days at most. Who installed the wrapper for
        themselves could forge their own.
    type: float
    default: 0
  tolerate:
    description: Report servers that did not pass without failing.
    type: bool
    default: false
attributes:
  check_mode:
    description: Starts nothing and lists what would be started.
    support: full
  diff_mode:
    description: Changes nothing.
    support: none
"""

EXAMPLES = r"""
- name: Prove it for everybody
  mcp_denial_check:

- name: Prove it for one server
  mcp_denial_check:
    servers: ["claude-code:filesystem"]
"""

RETURN = r"""
checks:
  description:
    - One entry for each confined server, with the time of its proof and whether that is remembered from an earlier run.
    - In check mode, the proof is missing where the server would be started.
  returned: always
  type: list
  elements: dict
  sample:
    - user: ada
      client: claude-code
      file: /home/ada/.claude.json
      server: filesystem
      passed: true
      reason: null
      proved_at: "2026-01-31T09:30:00Z"
      remembered: false
      handshake: {completed: true, seconds: 0.8, tools: 14, detail: null}
      denials:
        - {act: read a file outside, without_us: allowed, confined: denied, by: landlock}
not_passed:
  description: The servers that did not pass, in the form that O(ignore:refused) of C(mcp_launch_config) takes.
  returned: always
  type: list
  elements: dict
problems:
  description: Users for whom nothing could be proved.
  returned: always
  type: list
  elements: dict
notices:
  description: What a person should know, such as why a proof could not be remembered.
  returned: always
  type: list
  elements: str
failures:
  description: The reasons of RV(not_passed) and RV(problems), one sentence each.
  returned: always
  type: list
  elements: str
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.probe.fleet import prove  # noqa: E402


def main() -> None:
    module = AnsibleModule(
        argument_spec={
            "users": {"type": "list", "elements": "str", "default": ["auto"]},
            "wrapper": {"type": "path"},
            "servers": {"type": "list", "elements": "str"},
            "projects": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "float", "default": 120.0},
            "expected": {"type": "list", "elements": "dict", "default": []},
            "max_age": {"type": "float", "default": 0.0},
            "tolerate": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    wish = module.params
    result = (prove.remembered if module.check_mode else prove.prove)(wish["users"], wish)
    if result["failures"] and not wish["tolerate"]:
        module.fail_json(msg="; ".join(result["failures"]), changed=False, **result)
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
