"""How this host boots: what the kernel was told about security modules, and where that would be changed."""
from __future__ import annotations

import re
from typing import Any

from .read import Fact, exists, known, names, text, then, value

# Only these leave a command line: others may hold keys or addresses.
PARAMETERS = ("lsm", "security", "apparmor", "selinux", "namespace.unpriv_enable", "user_namespace.enable", "landlock")
LOADER_FILES = (
    # (loader, a file that only its hosts have)
    ("ostree", "/run/ostree-booted"),
    ("zipl", "/etc/zipl.conf"),
    ("kernelstub", "/etc/kernelstub/configuration"),
    ("raspberry", "/boot/firmware/cmdline.txt"),
    ("grubby", "/usr/sbin/grubby"),
    ("grub", "/usr/sbin/update-grub"),
    ("grub", "/etc/default/grub"),
    ("systemd-boot", "/boot/loader/loader.conf"),
    ("systemd-boot", "/efi/loader/loader.conf"),
    ("systemd-boot", "/boot/efi/loader/loader.conf"),
    ("kernel-install", "/etc/kernel/cmdline"),
    ("extlinux", "/boot/extlinux/extlinux.conf"),
    ("raspberry", "/boot/cmdline.txt"),
)
# What the running loader and the stub of a unified image left in the firmware's variables, readable by all.
LOADER_VARIABLE = "/sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
STUB_VARIABLE = "/sys/firmware/efi/efivars/StubInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f"
# Where entries of the Boot Loader Specification are; the first folder that is there counts.
ENTRIES = ("/boot/loader/entries", "/efi/loader/entries", "/boot/efi/loader/entries")
ONE_LINE = ("/etc/kernel/cmdline", "/boot/firmware/cmdline.txt", "/boot/cmdline.txt")


def facts(root: str = "/") -> dict[str, Fact]:
    """{"parameters": {name: last value}, "loader", "settings": [{"file", "variable", "parameter", "value"}],
    "grub_files": [name], "unified": the kernel came with its command line in one image}."""
    return {
        "parameters": then(text(root, "/proc/cmdline"), parameters),
        "loader": _loader(root),
        "settings": known(_settings(root), "the boot loader's files"),
        "grub_files": known([name for name in names(root, "/etc/default/grub.d") if name.endswith(".cfg")],
                            "/etc/default/grub.d"),
        "unified": exists(root, STUB_VARIABLE),
    }


def entries(root: str) -> list[str]:
    """The files of the boot loader's entries; none where they cannot be listed, as by a user on some hosts."""
    return next((found for folder in ENTRIES
                 if (found := [f"{folder}/{name}" for name in names(root, folder) if name.endswith(".conf")])), [])


def parameters(line: str) -> dict[str, str]:
    """The kernel takes the last of equal names."""
    found = {}
    for word in line.split():
        if word == "--":
            break  # what follows is for init
        name, _, said = word.partition("=")
        if name in PARAMETERS and re.fullmatch(r"[\w,.-]{0,200}", said):
            found[name] = said
    return found


def _loader(root: str) -> Fact:
    said = re.sub(r"[^\x20-\x7e]", "", value(text(root, LOADER_VARIABLE, 256)) or "")
    if "systemd-boot" in said and not value(exists(root, "/etc/kernelstub/configuration")):
        return known("systemd-boot", LOADER_VARIABLE)
    for loader, path in LOADER_FILES:
        if value(exists(root, path)):
            return known(loader, path)
    if value(exists(root, "/sys/firmware/efi")):
        return known("firmware", "/sys/firmware/efi without any loader's files")
    return known("other", "none of the known loaders' files is here")


def _settings(root: str) -> list[dict[str, Any]]:
    """Where `lsm=` or `security=` is set for the next boot, in the order in which the files are read."""
    places = ["/etc/default/grub"]
    places += [f"/etc/default/grub.d/{name}" for name in names(root, "/etc/default/grub.d") if name.endswith(".cfg")]
    places += [*ONE_LINE, "/etc/kernelstub/configuration", *entries(root)]
    found = []
    for place in places:
        for line in (value(text(root, place)) or "").splitlines():
            if line.lstrip().startswith("#"):
                continue
            variable = re.match(r"\s*(?:export\s+)?(GRUB_CMDLINE_LINUX\w*)\+?=", line)
            for name, said in re.findall(r"(?:^|[\s\"'=])(lsm|security)=([\w,]{1,200})", line):
                found.append({"file": place, "variable": variable.group(1) if variable else None,
                              "parameter": name, "value": said})
    return found
