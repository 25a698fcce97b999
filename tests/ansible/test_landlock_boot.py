"""The role `landlock_boot` as it is run: on a copy of this host whose kernel seems to have Landlock off."""
from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
import textwrap
from pathlib import Path

import pytest
from playground import ANSIBLE, ROOT, Run, free_port, sshd_running

ACTIVE = "capability,lockdown,yama,apparmor"
NEW = "landlock,lockdown,yama,apparmor"
DROPIN = "/etc/default/grub.d/zz-landlock.cfg"
# Reads GRUB's settings as grub-mkconfig does; the real one is tried in the kernel lab.
UPDATE_GRUB = """#!/bin/sh
set -e
[ ! -e /fail-update-grub ] || { echo "update-grub: no space left" >&2; exit 1; }
for file in /etc/default/grub /etc/default/grub.d/*.cfg; do [ ! -e "$file" ] || . "$file"; done
echo "\tlinux /vmlinuz root=x ro $GRUB_CMDLINE_LINUX $GRUB_CMDLINE_LINUX_DEFAULT" > /boot/grub/grub.cfg
"""


class Copy:
    """This host's root under an overlay, in a mount namespace of its own, with GRUB and a list of security modules."""

    def __init__(self, handle: str, root: str, off: str) -> None:
        self.enter, self.off = ["nsenter", f"--mount={handle}", "chroot", root], off

    def run(self, *argv: str) -> subprocess.CompletedProcess:
        return subprocess.run([*self.enter, *argv], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              check=False, env={**os.environ, "HOME": "/root", "ANSIBLE_NOCOLOR": "1",
                                                "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
                                                "ANSIBLE_LOCALHOST_WARNING": "false"})

    def play(self, playbook: str, *options: str, on: bool = False, host: dict | None = None) -> Run:
        """With `on` as a host whose kernel has Landlock on, else one that answers EOPNOTSUPP."""
        hosts = {"this": host or {"ansible_connection": "local"}}
        if not (on or host):
            hosts["this"]["ansible_python_interpreter"] = self.off
        self.write("/inventory.json", json.dumps({"all": {"hosts": hosts}}))
        done = self.run(str(ANSIBLE / "ansible-playbook"), "-i", "/inventory.json",
                        str(ROOT / "playbooks" / playbook), *options)
        text = done.stdout + done.stderr
        return Run(done.returncode, text, {host: {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", counts)}
                                           for host, counts in re.findall(r"^(\S+)\s+: (ok=.*)$", text, re.MULTILINE)})

    def write(self, path: str, text: str) -> None:
        subprocess.run([*self.enter, "tee", path], input=text, text=True, check=True, stdout=subprocess.DEVNULL)

    def read(self, path: str) -> str:
        return self.run("cat", path).stdout

    def files(self) -> dict[str, str]:
        found = self.run("find", "/etc/default", "/boot", "/var/lib/mcp-confine", "-type", "f").stdout.split()
        return {path: hashlib.sha256(self.read(path).encode()).hexdigest() for path in found}


@pytest.fixture
def copy(without_landlock, place):
    off = without_landlock("EOPNOTSUPP")["ansible_python_interpreter"]
    held = Path(tempfile.mkdtemp(prefix="namespace-", dir="/opt"))
    handle, root = held / "mnt", held / "root"
    handle.touch()
    root.mkdir()
    subprocess.run(["mount", "--bind", held, held], check=True)
    subprocess.run(["mount", "--make-private", held], check=True)
    setup = textwrap.dedent(f"""
        layers={held}/layers; mkdir $layers; mount -t tmpfs tmpfs $layers; mkdir $layers/upper $layers/work
        mount -t overlay -o lowerdir=/,upperdir=$layers/upper,workdir=$layers/work overlay {root}
        cd {root}; rm -f .dockerenv
        for folder in proc dev; do mount --rbind /$folder $folder; done
        mount --rbind /sys sys; mount -t tmpfs tmpfs sys/kernel/security
        echo {ACTIVE} > sys/kernel/security/lsm
        echo first > boot-id; mount --bind boot-id proc/sys/kernel/random/boot_id
        mkdir -p etc/default/grub.d boot/grub""")
    subprocess.run(["unshare", f"--mount={handle}", "sh", "-ec", setup], check=True)
    made = Copy(str(handle), str(root), off)
    made.write("/usr/sbin/update-grub", UPDATE_GRUB)
    made.run("chmod", "755", "/usr/sbin/update-grub")
    made.write("/etc/default/grub", 'GRUB_CMDLINE_LINUX=""\n')
    made.write("/etc/default/grub.d/50-cloudimg-settings.cfg", 'GRUB_CMDLINE_LINUX_DEFAULT="console=ttyS0 lsm=yama"\n')
    assert made.run("update-grub").returncode == 0
    yield made
    subprocess.run(["umount", handle], check=True)
    subprocess.run(["umount", held], check=True)
    shutil.rmtree(held)


SHUTDOWN = f"""#!/bin/sh
echo "$@" >> /reboots
echo second > /boot-id
echo capability,{NEW} > /sys/kernel/security/lsm
"""


@pytest.fixture
def over_ssh(copy, sshd, place):
    """The copy as a host over ssh, whose shutdown starts another boot: Landlock is off in the first and on after it."""
    port = free_port()
    copy.write("/usr/sbin/shutdown", SHUTDOWN)
    copy.write("/python", f'#!/bin/sh\ngrep -q first /boot-id && exec {copy.off} "$@"\nexec /usr/bin/python3 "$@"\n')
    copy.run("chmod", "755", "/usr/sbin/shutdown", "/python")
    alias = f"-o HostKeyAlias=[127.0.0.1]:{sshd['ansible_port']}"
    with sshd_running(place / "sshd_config", port, copy.enter):
        yield {**sshd, "ansible_port": port, "ansible_python_interpreter": "/python",
               "ansible_ssh_common_args": f"{sshd['ansible_ssh_common_args']} {alias}"}


def test_with_the_reboot_the_same_run_proves_it_and_the_next_does_not_reboot(copy, over_ssh):
    wish = ("-e", json.dumps({"landlock_boot_reboot": True, "landlock_boot_users": ["root"],
                              "ansible_become": False, "mcp_confine_become": False}))
    predicted = copy.play("landlock-at-boot.yml", "--check", *wish, host=over_ssh)
    assert predicted.status == 0 and copy.run("test", "-e", "/reboots").returncode, predicted.text
    done = copy.play("landlock-at-boot.yml", *wish, host=over_ssh)
    assert done.status == 0 and "Landlock is on" in done.text, done.text
    assert predicted.changed_tasks() == done.changed_tasks()
    assert len(copy.read("/reboots").splitlines()) == 1
    again = copy.play("landlock-at-boot.yml", *wish, host=over_ssh)
    assert (again.status, again.recap["this"]["changed"]) == (0, 0), again.text
    assert len(copy.read("/reboots").splitlines()) == 1
    # A boot that loses a module fails the run that started it.
    assert copy.play("undo-landlock-at-boot.yml", host=over_ssh).status == 0
    copy.write("/boot-id", "first\n")
    copy.write("/sys/kernel/security/lsm", ACTIVE)
    copy.write("/usr/sbin/shutdown", SHUTDOWN.replace(",apparmor", ""))
    lost = copy.play("landlock-at-boot.yml", *wish, host=over_ssh)
    assert lost.status != 0 and "are off: apparmor" in lost.text, lost.text


def differences(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("+", "-"))]


def test_off_at_boot_written_pending_on_and_taken_back(copy):
    before = copy.files()
    predicted = copy.play("landlock-at-boot.yml", "--check", "--diff")
    assert (predicted.status, copy.files()) == (0, before), predicted.text
    done = copy.play("landlock-at-boot.yml", "--diff")
    assert done.status == 0 and "reboot pending" in done.text, done.text
    assert predicted.recap["this"]["changed"] == done.recap["this"]["changed"] == 1
    assert differences(predicted.text) == differences(done.text) != []
    line = copy.read("/boot/grub/grub.cfg").split()
    assert line[-2:] == [f"lsm={NEW}", "console=ttyS0"] and str(line).count("lsm=") == 1

    written = copy.files()
    again = copy.play("landlock-at-boot.yml", "--diff")
    assert (again.status, again.recap["this"]["changed"], copy.files()) == (0, 0, written), again.text
    assert "reboot pending" in again.text

    # As after the reboot: another boot, Landlock on, nothing lost.
    copy.write("/boot-id", "second\n")
    copy.write("/sys/kernel/security/lsm", f"capability,{NEW}")
    booted = copy.play("landlock-at-boot.yml", on=True)
    assert (booted.status, booted.recap["this"]["changed"]) == (0, 0) and "Landlock is on" in booted.text, booted.text

    # And where it lost one.
    copy.write("/sys/kernel/security/lsm", "capability,landlock,yama")
    lost = copy.play("landlock-at-boot.yml", on=True)
    assert lost.status != 0 and "are off: lockdown, apparmor" in lost.text and "undo-landlock-at-boot" in lost.text

    predicted = copy.play("undo-landlock-at-boot.yml", "--check", "--diff", on=True)
    assert copy.files() == written
    undone = copy.play("undo-landlock-at-boot.yml", "--diff", on=True)
    assert predicted.recap["this"]["changed"] == undone.recap["this"]["changed"] == 1, undone.text
    assert differences(predicted.text) == differences(undone.text) != []
    assert copy.files() == before
    assert copy.play("undo-landlock-at-boot.yml", on=True).recap["this"]["changed"] == 0


def test_a_boot_loader_that_cannot_be_written_leaves_all_as_it_was_and_fails_the_host(copy):
    before = copy.files()
    copy.write("/fail-update-grub", "")
    failed = copy.play("landlock-at-boot.yml")
    assert failed.status != 0 and "no space left" in failed.text
    assert {path: digest for path, digest in copy.files().items() if "mcp-confine" not in path} == before
    copy.run("rm", "/fail-update-grub")
    assert copy.play("landlock-at-boot.yml").status == 0
    assert copy.read(DROPIN)


def test_a_host_with_landlock_and_one_with_an_unknown_loader(copy):
    before = copy.files()
    usable = copy.play("landlock-at-boot.yml", on=True)
    assert (usable.status, usable.recap["this"]["changed"]) == (0, 0) and "Landlock is on" in usable.text
    copy.run("rm", "-r", "/usr/sbin/update-grub", "/etc/default/grub", "/etc/default/grub.d")
    left = copy.files()
    unknown = copy.play("landlock-at-boot.yml")
    assert unknown.status != 0 and f"lsm={NEW}" in unknown.text and "for a person" in unknown.text, unknown.text
    assert copy.files() == left and len(left) < len(before)
