"""A guest with GRUB's own scripts in it, started with the command line that they made, and again with the next.

Its disk is what it hands over between two starts: GRUB's settings, /boot and the record. Imitated is `grub-probe`,
since there is no disk to ask about, and GRUB itself: QEMU hands the kernel the words that grub.cfg would.
"""
from __future__ import annotations

import base64
import os
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
    """What the guest answered, started with these words and this disk, over the archive that `guest.tree`
    made. Raises `AssertionError` with its console."""
    answer = guest.start(image, (guest.base(), fetch.LAB / "tree.cpio", _grub(), _own(disk, place)), words)
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
    """The archive of the disk and of the programs that this guest has in place of others'."""
    tree = place / "tree"
    shutil.rmtree(tree, ignore_errors=True)
    programs = {"/init2": guest.second("inside_boot.py"), "/usr/sbin/grub-probe": PROBE}
    for path, held in {**disk, **{path: text.encode() for path, text in programs.items()}}.items():
        (tree / path.lstrip("/")).parent.mkdir(parents=True, exist_ok=True)
        (tree / path.lstrip("/")).write_bytes(held)
        os.chmod(tree / path.lstrip("/"), 0o755 if path in programs else 0o600 if "/var/lib" in path else 0o644)
    guest._pack(tree, place / "own.cpio")
    return place / "own.cpio"
