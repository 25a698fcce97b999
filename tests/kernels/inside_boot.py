"""Runs inside a guest: the module's own call, GRUB's own scripts, and one JSON object of what was seen and is kept."""
from __future__ import annotations

import base64
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, "/work")
KEPT = ("/etc/default", "/boot", "/var/lib/mcp-confine")


def words() -> str:
    """The command line that GRUB would hand the kernel of the first entry."""
    for row in pathlib.Path("/boot/grub/grub.cfg").read_text().splitlines():
        if row.split()[:1] == ["linux"]:
            return " ".join(row.split()[2:])
    raise SystemExit("grub.cfg starts no Linux")


def files() -> dict[str, str]:
    """What a reboot keeps: each file's bytes, as base64."""
    return {str(path): base64.b64encode(path.read_bytes()).decode() for folder in KEPT
            for path in sorted(pathlib.Path(folder).rglob("*")) if path.is_file()}


def ensure(state: str, dry_run: bool = False) -> dict:
    from probe.fleet import at_boot

    try:
        return at_boot.ensure(state, dry_run)
    except at_boot.BootRefused as refusal:
        return {"failed": str(refusal)}


def main() -> None:
    from probe.confine import selftest

    told: dict = {"cmdline": pathlib.Path("/proc/cmdline").read_text().strip(),
                  "lsm": pathlib.Path("/sys/kernel/security/lsm").read_text().strip().split(","),
                  "ptrace_scope": os.path.exists("/proc/sys/kernel/yama/ptrace_scope"),
                  "apparmor": pathlib.Path("/sys/module/apparmor/parameters/enabled").read_text().strip()}
    if not os.path.exists("/boot/grub/grub.cfg"):  # the first start: as the installer left it
        os.makedirs("/boot/grub", exist_ok=True)
        subprocess.run(["update-grub"], check=True, capture_output=True)
    told["words"], before = words(), files()
    told["predicted"], told["unchanged"] = ensure("present", dry_run=True), files() == before
    told["done"], told["words_after"], told["written"] = ensure("present"), words(), files() != before
    told["again"] = ensure("present")
    told["disk"] = files()
    if "landlock" in told["lsm"]:  # the second start: prove it, and give everything back
        tested = selftest.run("/root")
        told["self_test"] = {name: tested.get(name) for name in ("passed", "abi", "reason")}
        told["undone"], told["words_undone"], told["disk_undone"] = ensure("absent"), words(), files()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
