#!/usr/bin/python
# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

DOCUMENTATION = r"""
module: landlock_boot
short_description: Switches Landlock on for the next boot, where it is built in and off
description:
  - Computes the C(lsm=) list from the live one, with Landlock in front and nothing lost, and writes it the way this
    host boots, through a GRUB drop-in, grubby, systemd-boot's entries, kernelstub or C(cmdline.txt).
  - Does nothing where Landlock is on, where the kernel was built without it, where a filter hides it, or in a
    container.
  - Fails without a change, and names the line, where the boot loader is another one or the kernel comes with its
    command line in a unified image.
  - Fails when a module that was on before is off after the boot with the new list.
  - Never reboots.
version_added: 0.1.0
author: mcp-confine contributors (@mcp-confine)
options:
  state:
    description: V(present) asks for Landlock at the next boot, V(absent) gives back what was there before.
    type: str
    choices: [present, absent]
    default: present
attributes:
  check_mode:
    description: Predicts what the run does and writes nothing.
    support: full
  diff_mode:
    description: Shows the file that is written for GRUB, and of other files the words that tell of security modules.
    support: full
"""

EXAMPLES = r"""
- name: Ask for Landlock at the next boot
  landlock_boot:
  register: asked

- name: Give the old list back
  landlock_boot:
    state: absent
"""

RETURN = r"""
status:
  description:
    - V(on) when the running kernel has Landlock on.
    - V(pending) when the next boot will have it.
    - V(nothing_to_do) when no list at boot would help or, with O(state=absent), nothing had been written.
    - V(taken_back) when the next boot will have the old list.
  returned: success
  type: str
  sample: pending
reason:
  description: The same as a sentence.
  returned: success
  type: str
  sample: "reboot pending: the boot loader asks for it now"
code:
  description: What the probe calls the state of Landlock here, when it is not on.
  returned: success
  type: str
  sample: LANDLOCK_OFF_AT_BOOT
loader:
  description: How this host boots.
  returned: success
  type: str
  sample: grub
active:
  description: The security modules that are on now.
  returned: success
  type: list
  elements: str
  sample: [capability, lockdown, yama, apparmor]
expected:
  description: With O(state=absent), the modules that were on before Landlock was asked for.
  returned: when something was taken back
  type: list
  elements: str
lsm:
  description: The list for the next boot.
  returned: success
  type: str
  sample: landlock,lockdown,yama,apparmor
changes:
  description: The files and commands that did it, or would.
  returned: success
  type: list
  elements: str
  sample: ["write /etc/default/grub.d/zz-landlock.cfg", "run update-grub"]
"""

from ansible.module_utils.basic import AnsibleModule  # noqa: E402

from ..module_utils.probe.fleet import at_boot  # noqa: E402


def main() -> None:
    module = AnsibleModule(
        argument_spec={"state": {"type": "str", "choices": ["present", "absent"], "default": "present"}},
        supports_check_mode=True,
    )
    try:
        result = at_boot.ensure(module.params["state"], dry_run=module.check_mode)
    except at_boot.BootRefused as refusal:
        module.fail_json(msg=str(refusal))
    module.exit_json(**result)


if __name__ == "__main__":
    main()
