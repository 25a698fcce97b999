"""AppArmor as a user without privileges can see it: on or off, our own label, and the profiles that lie on disk."""
from __future__ import annotations

import re
from typing import Any

from .programs import Programs
from .read import Fact, exists, known, names, number, raw, text, then, unknown, value

PROFILES = "/etc/apparmor.d"
EXTRA = "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict"
STOCK = ("bwrap-userns-restrict",)
INTERESTING = ("bwrap", "rootlesskit")
PROFILE_LIMIT = 1 << 18
_HEAD = re.compile(
    r"^[ \t]*(?:profile[ \t]+(?P<name>\"[^\"]+\"|[^\s{(]+)[ \t]*(?P<path>\"?[/@][^\s(]*\"?)?"
    r"|(?P<bare>\"?[/@][^\s(]*\"?))"
    r"[ \t]*(?:xattrs=\([^)]*\)[ \t]*)?(?:flags=)?[ \t]*(?:\((?P<flags>[^)]*)\))?[ \t]*\{",
    re.MULTILINE,
)
_VARIABLES = {"@{bin}": "/{usr/,}{s,}bin", "@{sbin}": "/{usr/,}sbin", "@{lib}": "/{usr/,}lib{,exec,32,64}",
              "@{HOME}": "/{home/*,root}", "@{multiarch}": "*"}


def facts(root: str, home: str) -> dict[str, Fact]:
    """{"enabled", "label", "restrict_unconfined", "restrict_io_uring", "policy_switch", "loaded", "profiles",
    "extra_profile", "parser"}.

    `profiles`: [{"file", "name", "attaches", "unconfined", "userns", "stock", "disabled", "program"}], those on disk
    that attach to bwrap or rootlesskit where they are found. `loaded`: names in the kernel, for root only.
    """
    programs = Programs(root, home)
    enabled = then(text(root, "/sys/module/apparmor/parameters/enabled"), lambda word: word.upper().startswith("Y"))
    label = text(root, "/proc/self/attr/apparmor/current")
    if label["state"] == "absent":
        label = text(root, "/proc/self/attr/current")
    return {
        "enabled": enabled,
        "label": label,
        "restrict_unconfined": number(root, "/proc/sys/kernel/apparmor_restrict_unprivileged_unconfined"),
        "restrict_io_uring": number(root, "/proc/sys/kernel/apparmor_restrict_unprivileged_io_uring"),
        "policy_switch": number(root, "/proc/sys/kernel/unprivileged_userns_apparmor_policy"),
        "loaded": _loaded(root),
        "profiles": _profiles(root, programs),
        "extra_profile": exists(root, EXTRA),
        "parser": programs.first("apparmor_parser"),
    }


def _loaded(root: str) -> Fact:
    how = "/sys/kernel/security/apparmor/profiles"
    content = text(root, how, 1 << 20)
    if content["state"] == "absent":
        return unknown(how, "securityfs is not mounted or AppArmor is off")
    return then(content, lambda lines: [line.rpartition(" (")[0] for line in lines.splitlines() if " (" in line])


def _profiles(root: str, programs: Programs) -> Fact:
    paths = {}
    for name in INTERESTING:
        found = value(programs.first(name))
        paths[name] = sorted({found["path"], found["resolved"]} if found else {f"/usr/bin/{name}"})
    off = set(names(root, f"{PROFILES}/disable"))
    rows: list[dict[str, Any]] = []
    for name in names(root, PROFILES):
        try:
            content = raw(root, f"{PROFILES}/{name}", PROFILE_LIMIT)
        except OSError:
            continue
        if any(word.encode() in content for word in INTERESTING):
            rows += attachments(content.decode("utf-8", "replace"), name, paths, name in off)
    return known(rows, PROFILES)


def attachments(content: str, file: str, paths_of: dict[str, list[str]], disabled: bool) -> list[dict[str, Any]]:
    """The profiles in a policy file that attach to a path of `paths_of` ({program: [path]}). Source: apparmor.d(5)."""
    rows = []
    for head in _HEAD.finditer(content):
        pattern = head.group("path") or head.group("bare")
        name = (head.group("name") or pattern or "").strip('"')
        if pattern is None and name.startswith("/"):
            pattern = name  # `profile /usr/bin/bwrap {` attaches by its name
        for program, paths in paths_of.items():
            if pattern and any(matches(pattern.strip('"'), path) for path in paths):
                flags = [word for word in re.split(r"[,\s]+", head.group("flags") or "") if word]
                body = content[head.end(): _end_of_block(content, head.end())]
                rows.append({"file": file, "name": name, "attaches": pattern.strip('"'), "program": program,
                             "unconfined": "unconfined" in flags, "stock": file in STOCK, "disabled": disabled,
                             "userns": bool(re.search(r"^\s*(?:allow\s+)?userns\b", body, re.MULTILINE))})
    return rows


def _end_of_block(content: str, start: int) -> int:
    depth = 1
    for found in re.compile(r"(?<=[\s{}])[{}]|\}$", re.MULTILINE).finditer(content, start):
        depth += 1 if found.group() == "{" else -1
        if depth == 0:
            return found.start()
    return len(content)


def matches(pattern: str, path: str) -> bool:
    """Whether AppArmor's pattern names the path. A variable that we do not know stands for anything."""
    for name, meaning in _VARIABLES.items():
        pattern = pattern.replace(name, meaning)
    pattern = re.sub(r"@\{[^}]*\}", "**", pattern)
    result, depth, index = "", 0, 0
    while index < len(pattern):
        char = pattern[index]
        if pattern.startswith("**", index):
            result, index = result + ".*", index + 1
        elif char == "*":
            result += "[^/]*"
        elif char == "?":
            result += "[^/]"
        elif char == "{":
            result, depth = result + "(?:", depth + 1
        elif char == "}" and depth:
            result, depth = result + ")", depth - 1
        elif char == "," and depth:
            result += "|"
        else:
            result += re.escape(char)
        index += 1
    try:
        return re.fullmatch(result + ")" * depth, path) is not None
    except re.error:
        return False
