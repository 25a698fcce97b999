"""A guest with GRUB's own scripts in it, started with the command line that they made, and again with the next.

Its disk is what it hands over between two starts: GRUB's settings, /boot and the record. Imitated is `grub-probe`,
since there is no disk to ask about, and GRUB itself: QEMU hands the kernel the words that grub.cfg would.
"""
from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import fetch
import guest

PACKAGES = ("grub-common", "grub2-common", "libdevmapper1.02.1")
PROBE = """#!/bin/sh
case "$*" in
    *--target=device*) echo /dev/vda1 ;;
    *--target=fs\\ *|*--target=fs) echo ext2 ;;
    *--target=abstraction*|*--target=fs_uuid*|*--target=partuuid*|*--target=cryptodisk_uuid*) ;;
    *--target=drive*) echo "(hd0,1)" ;;
    *--target=hints_string*|*--target=compatibility_hint*) ;;
    *--target=partmap*) echo gpt ;;
    *) exit 1 ;;
esac
"""
FIRST = """#!/bin/sh
mkdir /new; mount -t tmpfs -o size=90% tmpfs /new
for part in bin sbin lib lib64 usr etc var root home opt work boot init2; do [ -e /$part ] && cp -a /$part /new/; done
mkdir -p /new/proc /new/sys /new/dev /new/tmp /new/run; chmod 1777 /new/tmp
exec switch_root /new /init2
"""
SECOND = f"""#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm
mount -t securityfs securityfs /sys/kernel/security
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
echo; echo {guest.BEGIN}
/usr/bin/python3 /work/tests/kernels/inside_boot.py 2>/dev/console
echo {guest.END}
sync; echo o > /proc/sysrq-trigger; sleep 5
"""


def disk() -> dict[str, bytes]:
    """A Debian cloud image as it is before: the provider's file sets the console, and a list without Landlock."""
    return {
        "/etc/default/grub": b'GRUB_DEFAULT=0\nGRUB_TIMEOUT=0\nGRUB_DISTRIBUTOR=Debian\n'
                             b'GRUB_CMDLINE_LINUX_DEFAULT="quiet"\nGRUB_CMDLINE_LINUX="rdinit=/init panic=-1"\n',
        "/etc/default/grub.d/50-cloudimg-settings.cfg":
            b'GRUB_CMDLINE_LINUX_DEFAULT="console=ttyS0 lsm=yama,apparmor"\n',
        "/boot/vmlinuz-7.1.0-cloud-amd64": b"\x7fELF that GRUB's script takes for a kernel\n",
    }


def start(image: Path, words: str, disk: dict[str, bytes], place: Path) -> dict:
    """What the guest answered, started with these words and this disk. Raises `AssertionError` with its console."""
    initramfs = place / "initramfs"
    with open(initramfs, "wb") as out:
        for archive in (guest.base(), _grub(), _own(disk, place)):
            with open(archive, "rb") as part:
                shutil.copyfileobj(part, out)
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-m", guest.MEMORY, "-nographic",
               "-no-reboot", "-kernel", image, "-initrd", initramfs, "-net", "none", "-append", words]
    try:
        console = subprocess.run(command, capture_output=True, timeout=guest.DEADLINE, stdin=subprocess.DEVNULL).stdout
    except subprocess.TimeoutExpired as late:
        console = late.stdout or b""
    finally:
        initramfs.unlink()
    text = console.decode("utf-8", "replace")
    found = re.search(f"{guest.BEGIN}.*?^(\\{{.*?)\\s*{guest.END}", text, re.DOTALL | re.MULTILINE)
    assert found, f"no answer from the guest; the end of its console:\n{text[-3000:]}"
    answer = json.loads(found[1])
    answer["disk"] = {path: base64.b64decode(held) for path, held in answer["disk"].items()}
    return answer


def _grub() -> Path:
    """The archive of GRUB's scripts and what they need, from the newest suite that the lab uses; built once."""
    archive = fetch.LAB / "grub.cpio"
    if archive.exists():
        return archive
    fetch.index()
    downloads, tree = fetch.LAB / "apt", fetch.LAB / "grub"
    shutil.rmtree(tree, ignore_errors=True)
    for name in PACKAGES:
        fetch._apt("apt-get", "download", f"{name}/trixie")
        [package] = downloads.glob(f"{name}_*.deb")
        subprocess.run(["dpkg-deb", "-x", package, tree], check=True)
        package.unlink()
    for waste in ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info"):
        shutil.rmtree(tree / waste, ignore_errors=True)
    guest._pack(tree, fetch.LAB / "grub.cpio.new")
    (fetch.LAB / "grub.cpio.new").rename(archive)
    shutil.rmtree(tree)
    return archive


def _own(disk: dict[str, bytes], place: Path) -> Path:
    tree = place / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(guest.ROOT / "probe", tree / "work/probe", ignore=leave_out)
    shutil.copytree(guest.ROOT / "tests/kernels", tree / "work/tests/kernels", ignore=leave_out)
    programs = {"/init": FIRST, "/init2": SECOND, "/usr/sbin/grub-probe": PROBE}
    for path, held in {**disk, **{path: text.encode() for path, text in programs.items()}}.items():
        (tree / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (tree / path.lstrip("/")).write_bytes(held)
        os.chmod(tree / path.lstrip("/"), 0o755 if path in programs else 0o600 if "/var/lib" in path else 0o644)
    guest._pack(tree, place / "own.cpio")
    return place / "own.cpio"
