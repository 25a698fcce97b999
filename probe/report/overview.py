"""A fleet as text for a terminal: how many, why not, and each host that needs a look."""
from __future__ import annotations

from typing import Any

from . import fleet
from .html import HOST_STATES

SHOWN_REASONS, SHOWN_HOSTS = 12, 40


def render(document: dict[str, Any]) -> str:
    """The report in lines; those of hosts that need nobody are left out, and of many only the first."""
    counts, servers = document["summary"]["hosts"], document["summary"]["servers"]
    lines = [f"{counts['protected']} of {_many(counts['total'], 'host')} protected: " + ", ".join(
        f"{counts[state]} {name}" for state, (name, _) in HOST_STATES.items() if counts[state])]
    lines.append(f"{_many(servers['total'], 'server')}: {servers['confined']} confined ({servers['proved']} proved), "
                 f"{servers['open']} open, {servers['in_containers']} in containers, {servers['remote']} remote")
    reasons = document["summary"]["reasons"]
    if reasons:
        lines += ["", "Why not"]
        lines += [f"  {_many(row['hosts'], 'host')}: {row['text']}{' (' + row['code'] + ')' if row['code'] else ''}"
                  for row in reasons[:SHOWN_REASONS]]
    rest = sorted((row for row in document["hosts"] if row["state"] not in fleet.SAFE), key=fleet.attention)
    if rest:
        lines += ["", "Hosts that need a look"]
        lines += [f"  {row['name']}  {HOST_STATES[row['state']][0]}  {row['why']}" for row in rest[:SHOWN_HOSTS]]
    if len(rest) > SHOWN_HOSTS:
        lines.append(f"  and {len(rest) - SHOWN_HOSTS} more; --json or --html FILE has all")
    return "\n".join("".join(char if char.isprintable() else "?" for char in line) for line in lines)


def _many(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
