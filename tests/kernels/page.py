"""docs/kernels.md, from what the guests answered."""
from __future__ import annotations

import re
from pathlib import Path

PATH = Path(__file__).resolve().parents[2] / "docs" / "kernels.md"
SHORT = {"enforced by landlock": "Landlock", "enforced by seccomp": "filter", "enforced by the wrapper": "wrapper",
         "unavailable": "no", "degraded": "partly", "not restricted": "open"}
HEAD = """# What each kernel enforces

Seen on Debian's cloud kernels under QEMU, as an unprivileged user and as root, by `make test-kernels`: each act was
first done without confinement, then refused with it. A kernel is a column. *Landlock*, *filter* and *wrapper* say what
enforces a protection there; *no* means that nothing does, and `mcp-confine --show` says so on such a kernel.

The default policy; its network is open, so the rows about it are those of `--net none` and of `--connect PORT`.
"""
TAIL = """
5.10 has no Landlock: nothing starts there (exit 125), and `probe` says LANDLOCK_NOT_BUILT. 7.1 booted with
`lsm=yama,apparmor` has it off: nothing starts, and `probe` names the line that turns it on and keeps the others.

## Where user namespaces are blocked

The same user, the same guest. Ubuntu's own sysctl is not in these kernels; the AppArmor profile does to bubblewrap what
Ubuntu's does to every unprivileged program: the namespace is made, and no capability comes with it.

"""


def render(lab: dict) -> str:
    """The page. `lab`: guest to (package, answer)."""
    rows = {name: told for name, (_, told) in lab.items() if told["installed"]}
    names = list(rows)
    lines = [HEAD, "| | " + " | ".join(names) + " |", "|---|" + "---|" * len(names)]
    lines.append("| package | " + " | ".join(f"`{lab[name][0]}`" for name in names) + " |")
    lines.append("| Landlock ABI | " + " | ".join(str(_plan(told)["abi"]) for told in rows.values()) + " |")
    for protection in [row["name"] for row in _plan(rows[names[0]])["protections"]] if names else []:
        if protection not in ("tcp", "tcp-ways-round", "listen", "udp"):
            lines.append(f"| {protection} | " + " | ".join(_state(told, "self_test", protection) or SHORT[_planned(
                told, protection)] for told in rows.values()) + " |")
    for policy, title in (("no_network", "--net none"), ("ports", "--connect PORT")):
        for protection in ("tcp", "tcp-ways-round", "listen", "udp"):
            cells = [_state(told, policy, protection) for told in rows.values()]
            lines.append(f"| {protection} ({title}) | " + " | ".join(cells) + " |")
    lines += [TAIL, "| kernel | blocked by | bubblewrap says | mcp-confine |", "|---|---|---|---|"]
    for name, told in rows.items():
        for way, seen in told["blocked"].items():
            if seen["possible"]:
                said = [line.partition(" See <")[0] for line in seen["bwrap"]["stderr"].splitlines()[-1:]] or ["works"]
                proved = "starts, denials proved" if seen["self_test"]["passed"] else "FAILS"
                lines.append(f"| {name} | {way} | {said[0]} | {proved} |")
    return "\n".join(lines) + "\n"


def _plan(told: dict) -> dict:
    return told["users"]["person"]["show"]


def _planned(told: dict, protection: str) -> str:
    return next(row["state"] for row in _plan(told)["protections"] if row["name"] == protection)


def _state(told: dict, policy: str, protection: str) -> str:
    """How the acts against a protection were stopped for both users, "" where no act tries it."""
    states = {SHORT[row["state"]] for user in told["users"].values() for row in user[policy]["acts"]
              if row["protection"] == protection}
    return " / ".join(sorted(states))


def without_versions(text: str) -> str:
    """The page without what a newer package of the same series changes."""
    return re.sub(r"`linux-(image|binary)-[^`]*`", "`linux`", text)
