"""A guest: one small Debian root in memory, a kernel, this tree, and a program that prints one JSON object."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from fetch import LAB, mirror

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = "python3,bubblewrap,util-linux,passwd,apparmor"
MEMORY = "2048"  # MiB
DEADLINE = 420  # seconds for a boot and all that runs in it, under emulation
BEGIN, END = "----begin-answer", "----end-answer"

INIT = """#!/bin/sh
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
mkdir -p /dev/pts /dev/shm; mount -t devpts devpts /dev/pts; mount -t tmpfs shm /dev/shm
mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
ip link set lo up 2>/dev/null || /usr/bin/python3 /work/tests/kernels/inside.py lo
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8
echo; echo {begin}
/usr/bin/python3 /work/tests/kernels/{program} 2>/dev/console
echo {end}
sync; echo o > /proc/sysrq-trigger; sleep 5
"""
# The root must be a mount of its own: pivot_root, which bubblewrap uses, fails on the kernel's first root.
FIRST = """#!/bin/sh
mkdir /new; mount -t tmpfs -o size=90% tmpfs /new
for part in bin sbin lib lib64 usr etc var root home opt work boot init2; do [ -e /$part ] && cp -a /$part /new/; done
mkdir -p /new/proc /new/sys /new/dev /new/tmp /new/run; chmod 1777 /new/tmp
exec switch_root /new /init2
"""


def second(program: str) -> str:
    """The text of /init2, which runs `program` of this folder, with its arguments, and powers off."""
    return INIT.format(begin=BEGIN, end=END, program=program)


def base() -> Path:
    """The root's archive, built once."""
    archive = LAB / "root.cpio"
    if archive.exists():
        return archive
    tree = LAB / "root"
    shutil.rmtree(tree, ignore_errors=True)
    subprocess.run(["debootstrap", "--variant=minbase", f"--include={INCLUDE}", "trixie", tree, mirror()], check=True,
                   stdout=subprocess.DEVNULL)
    for waste in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man"):
        shutil.rmtree(tree / waste, ignore_errors=True)
    subprocess.run(["chroot", tree, "useradd", "--create-home", "person"], check=True)
    _pack(tree, LAB / "root.cpio.new")
    (LAB / "root.cpio.new").rename(archive)
    shutil.rmtree(tree)
    return archive


def _pack(tree: Path, archive: Path) -> None:
    with open(archive, "wb") as out:
        names = subprocess.run(["find", ".", "-print0"], cwd=tree, check=True, capture_output=True).stdout
        subprocess.run(["cpio", "--null", "--create", "--format=newc", "--quiet"], cwd=tree, check=True, input=names,
                       stdout=out)


def tree() -> Path:
    """The archive of this tree as it is now, with the guest's first programs."""
    place = LAB / "tree"
    shutil.rmtree(place, ignore_errors=True)
    (place / "work").mkdir(parents=True)
    for part in ("probe", "tests"):
        shutil.copytree(ROOT / part, place / "work" / part, ignore=shutil.ignore_patterns("__pycache__", ".lab"))
    for name, text in (("init", FIRST), ("init2", second("inside.py run"))):
        (place / name).write_text(text)
        os.chmod(place / name, 0o755)
    _pack(place, LAB / "tree.cpio")
    return LAB / "tree.cpio"


def boot(image: Path, *arguments: str) -> dict:
    """What the guest answered, booted with these kernel arguments. Raises `AssertionError` with its console."""
    return start(image, (base(), LAB / "tree.cpio"),
                 " ".join(["console=ttyS0", "quiet", "panic=-1", "rdinit=/init", *arguments]))


def start(image: Path, archives: Sequence[Path], words: str) -> dict:
    """What the guest of these archives, the later over the earlier, answered to the whole command line `words`.
    Raises `AssertionError` with its console."""
    initramfs = LAB / f"initramfs-{os.getpid()}-{threading.get_ident()}-{image.name}"
    with open(initramfs, "wb") as out:
        for part in archives:
            with open(part, "rb") as archive:
                shutil.copyfileobj(archive, out)
    command = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-cpu", "max", "-m", MEMORY, "-nographic",
               "-no-reboot", "-kernel", image, "-initrd", initramfs, "-net", "none", "-append", words]
    try:
        console = subprocess.run(command, capture_output=True, timeout=DEADLINE, stdin=subprocess.DEVNULL).stdout
    except subprocess.TimeoutExpired as late:
        console = late.stdout or b""
    finally:
        initramfs.unlink()
    text = console.decode("utf-8", "replace")
    found = re.search(f"{BEGIN}\\s(.*?)\\s*{END}", text, re.DOTALL)
    assert found, f"no answer from the guest; the end of its console:\n{text[-3000:]}"
    line = next((line for line in found[1].splitlines() if line.startswith("{")), None)
    assert line, f"the guest's program failed:\n{found[1][-3000:]}"
    return json.loads(line)
