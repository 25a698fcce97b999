"""The kernel's name and version, and who is asking."""
from __future__ import annotations

import grp
import os
from typing import Any

from .. import users
from .read import Fact, absent, known, text, unknown


def facts(root: str = "/") -> dict[str, Fact]:
    return {
        "release": text(root, "/proc/sys/kernel/osrelease"),
        "version": text(root, "/proc/sys/kernel/version"),
        "machine": known(os.uname().machine, "uname"),
    }


def person(home: str | None) -> dict[str, Any]:
    """The user as whom everything else is read; `home` in place of the user's own for a tree of files."""
    me = users.me()
    return {"name": me.name, "uid": me.uid, "home": home or me.home, "root": me.uid == 0}


def group(root: str, name: str, user: str) -> Fact:
    """{"in_database": the user is a member, "in_session": this process has the group}; absent without such a group."""
    how = f"the group database, {name}"
    if root == "/":
        try:
            entry = grp.getgrnam(name)
        except KeyError:
            return absent(how)
        return known({"in_database": user in entry.gr_mem or entry.gr_gid == os.getegid(),
                      "in_session": entry.gr_gid in (*os.getgroups(), os.getegid())}, how)
    content = text(root, "/etc/group")
    for line in (content["value"] or "").splitlines():
        fields = line.split(":")
        if len(fields) == 4 and fields[0] == name:
            return known({"in_database": user in fields[3].split(","), "in_session": False}, how)
    return unknown(how, content["why"]) if content["state"] == "unknown" else absent(how)
