"""The security modules: which are active, which were built, and what two of them have to say."""
from __future__ import annotations

import re
import zlib

from .read import Fact, known, number, raw, text, then, unknown, value

OPTIONS = ("CONFIG_SECURITY_LANDLOCK", "CONFIG_LSM", "CONFIG_USER_NS", "CONFIG_SECURITY_APPARMOR")


def facts(root: str = "/") -> dict[str, Fact]:
    """{"active": [name], "built": {option: value}, "yama_ptrace_scope", "selinux_enforcing", "dmesg_restrict"}.

    The absence of `active` says nothing: securityfs may not be mounted, and containers hide it.
    """
    listed = text(root, "/sys/kernel/security/lsm")
    if listed["state"] == "absent":
        listed = unknown(listed["how"], "securityfs is not mounted or is hidden")
    return {
        "active": then(listed, lambda line: [_name(word) for word in line.split(",") if word]),
        "built": _built(root),
        "yama_ptrace_scope": number(root, "/proc/sys/kernel/yama/ptrace_scope"),
        "selinux_enforcing": then(number(root, "/sys/fs/selinux/enforce"), bool),
        "dmesg_restrict": number(root, "/proc/sys/kernel/dmesg_restrict"),
    }


def _name(word: str) -> str:
    if not re.fullmatch(r"[a-z0-9_]{1,32}", word.strip()):
        raise ValueError("not the name of a module")
    return word.strip()


def _built(root: str) -> Fact:
    """What the running kernel was configured with; it tells what was built, not what is active."""
    release = value(text(root, "/proc/sys/kernel/osrelease")) or ""
    places = [f"/boot/config-{release}", f"/usr/lib/modules/{release}/config", f"/lib/modules/{release}/config"]
    for place in places if re.fullmatch(r"[\w.+~-]{1,128}", release) else []:
        content = text(root, place, 1 << 20)
        if content["state"] == "known":
            return known(options(content["value"]), place)
    try:
        packed = raw(root, "/proc/config.gz", 1 << 20)
        unpacked = zlib.decompressobj(31).decompress(packed, 1 << 21)
    except (OSError, zlib.error):
        return unknown("/boot, /lib/modules and /proc/config.gz", "no configuration of the running kernel")
    return known(options(unpacked.decode("utf-8", "replace")), "/proc/config.gz")


def options(content: str) -> dict[str, str]:
    """The options that matter here, those that are not set as "n"."""
    found = {name: "n" for name in OPTIONS}
    for name, said in re.findall(r"^(CONFIG_\w+)=(.*)$", content, re.MULTILINE):
        if name in found:
            found[name] = said.strip().strip('"')
    return found
