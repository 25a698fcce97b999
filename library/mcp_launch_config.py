#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

DOCUMENTATION = r"""
module: mcp_launch_config
short_description: Makes MCP clients start their servers through the wrapper
description:
  - Finds the client files of each user and changes the command and the arguments of each stdio server, nothing else.
  - V(unconfined) gives every file back as it was.
  - Works as each user in turn. What cannot be confined is reported with its reason and stays as it is.
version_added: 0.1.0
author: mcp-confine contributors (@mcp-confine)
options:
  state:
    description: How the servers are to be started.
    type: str
    choices: [confined, unconfined]
    default: confined
  users:
    description: Whose files. V(auto) is root, if it runs the module, and everybody who can log in and has a home.
    type: list
    elements: str
    default: [auto]
  wrapper:
    description:
      - The path of the installed wrapper, which goes into the entries.
      - C(/usr/local/bin/mcp-confine) for root and C(~/.local/bin/mcp-confine) for others when not set.
    type: path
  clients:
    description: Only the files of these clients. All that are known when not set.
    type: list
    elements: str
  servers:
    description: Only these servers, each as C(NAME) or C(CLIENT:NAME). All when not set.
    type: list
    elements: str
  projects:
    description:
      - Folders, or patterns of folders, whose C(.mcp.json)-style files count too. V(~) is the home of each user.
      - A folder counts for the user who owns it.
    type: list
    elements: str
    default: []
  include_tracked:
    description: Also change files that are under version control.
    type: bool
    default: false
  refused:
    description:
      - With O(state=unconfined), give only these entries back, and remember why.
      - They stay as they are in later runs until the entry, its policy or the wrapper changes.
      - C(not_passed) of C(mcp_denial_check) has this form.
    type: list
    elements: dict
    suboptions:
      user:
        description: Whose entry.
        type: str
        required: true
      client:
        description: The client.
        type: str
        required: true
      file:
        description: The file that holds the entry.
        type: path
        required: true
      server:
        description: The name of the server.
        type: str
        required: true
      reason:
        description: Why it could not be confined.
        type: str
        required: true
attributes:
  check_mode:
    description: Predicts what the run does and writes nothing.
    support: full
  diff_mode:
    description: Shows the changed entries, without the value of any argument or variable.
    support: full
"""

EXAMPLES = r"""
- name: Confine every server of every user
  mcp_launch_config:

- name: Give the files back
  mcp_launch_config:
    state: unconfined

- name: Set back what did not pass its proof
  mcp_launch_config:
    state: unconfined
    refused: "{{ proved.not_passed }}"
"""

RETURN = r"""
servers:
  description: Every server that was found, with its state afterwards and the reason where it is not confined.
  returned: always
  type: list
  elements: dict
  sample:
    - user: ada
      client: claude-code
      file: /home/ada/.claude.json
      server: filesystem
      state: confined
      changed: true
problems:
  description: Files and users that could not be dealt with. Nothing of theirs was changed.
  returned: always
  type: list
  elements: dict
  sample:
    - user: ada
      path: /home/ada/.cursor/mcp.json
      reason: line 3 is not JSON
not_confined:
  description: What was meant and stays open, with the reason, one sentence each. What is never wrapped is not among it.
  returned: always
  type: list
  elements: str
to_do:
  description: The servers that were changed, or would be.
  returned: always
  type: list
  elements: str
editors_missing:
  description: What is missing on the host to read a client's file, V(tomlkit) or V(yaml).
  returned: always
  type: list
  elements: str
notices:
  description: What a person should know.
  returned: always
  type: list
  elements: str
seen:
  description: What the host calls itself, and the time there, in UTC.
  returned: always
  type: dict
  sample: {node: ws001, time: "2026-01-31T09:30:00Z"}
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.probe.fleet import configure  # noqa: E402


def main() -> None:
    words = {"type": "list", "elements": "str"}
    module = AnsibleModule(
        argument_spec={
            "state": {"type": "str", "choices": ["confined", "unconfined"], "default": "confined"},
            "users": {**words, "default": ["auto"]},
            "wrapper": {"type": "path"},
            "clients": words,
            "servers": words,
            "projects": {**words, "default": []},
            "include_tracked": {"type": "bool", "default": False},
            "refused": {"type": "list", "elements": "dict", "options": {
                "user": {"type": "str", "required": True},
                "client": {"type": "str", "required": True},
                "file": {"type": "path", "required": True},
                "server": {"type": "str", "required": True},
                "reason": {"type": "str", "required": True},
            }},
        },
        supports_check_mode=True,
    )
    wish = {key: value for key, value in module.params.items() if key != "users"}
    try:
        result = configure.configure(module.params["users"], {**wish, "dry_run": module.check_mode})
    except ValueError as problem:
        module.fail_json(msg=str(problem))
    result["diff"] = configure.differences(result.pop("files"))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
