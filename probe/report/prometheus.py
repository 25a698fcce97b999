"""One host's record as metrics, in the text format that node_exporter's textfile collector reads. Pure."""
from __future__ import annotations

from ..verdict import EXIT
from .record import SERVER_STATES, STATES, Record, epoch, is_open

# Lines of these change with every proof and every run; a file that differs in nothing else says the same.
TIMES = ("mcp_confine_proof_timestamp_seconds", "mcp_confine_report_timestamp_seconds")


def metrics(record: Record, version: str) -> str:
    """The metrics of a host. What is not known has no sample: no number is made up for it."""
    page = _Page()
    page.family("info", "The version of mcp-confine that wrote this.", [({"version": version}, 1)])
    page.family("state", "1 for the state of this host, 0 for all others.",
                [({"state": name}, int(name == record["state"])) for name in STATES])
    page.family("verdict", "1 for the verdict on this host, the worst of all users, 0 for all others.",
                [({"verdict": name}, int(name == record["verdict"])) for name in EXIT if record["verdict"]])
    page.family("usable", "Whether a mechanism works for every user, with limits or without; no sample when not known.",
                [({"mechanism": name}, int(state in ("usable", "limited")))
                 for name, state in (record["mechanisms"] or {}).items() if state != "unknown"])
    named = [row for row in record["servers"] if row["server"] is not None]
    page.family("servers", "MCP servers that clients here are configured to start, by state.",
                [({"state": name}, sum(row["state"] == name for row in named)) for name in SERVER_STATES])
    page.family("servers_open", "Servers that run with all rights of their user.",
                [({}, sum(is_open(row) for row in named))])
    page.family("servers_proved", "Confined servers whose denials were seen.",
                [({}, sum(row["proved"] is not None for row in named))])
    page.family("problems", "Files and users that could not be looked into.",
                [({}, len(record["problems"]) + sum(bool(row["error"]) for row in record["users"]))])
    page.family("finding", "1 for each code that was found here and blocks or limits a mechanism.",
                [({"code": code}, 1) for code in record["codes"]])
    page.family("landlock_abi", "The version of the kernel's Landlock interface.",
                [({}, record["abi"])] if record["abi"] is not None else [])
    page.family("proof_timestamp_seconds", "When the oldest proof was seen; no sample unless all confined have one.",
                [({}, epoch(record["proved"]))] if record["proved"] else [])
    page.family("report_timestamp_seconds", "When the host was looked at.", [({}, epoch(record["seen"]))])
    return "".join(page.lines)


def lasting(text: str) -> str:
    """The metrics without those that are times."""
    return "".join(line for line in text.splitlines(True) if not line.startswith(TIMES))


class _Page:
    def __init__(self) -> None:
        self.lines: list[str] = []

    def family(self, name: str, help_text: str, samples: list[tuple[dict[str, str], int]]) -> None:
        if not samples:
            return
        full = f"mcp_confine_{name}"
        self.lines += [f"# HELP {full} {help_text}\n", f"# TYPE {full} gauge\n"]
        for labels, value in samples:
            inside = ",".join(f'{key}="{_escaped(word)}"' for key, word in labels.items())
            self.lines.append(f"{full}{{{inside}}} {value}\n" if inside else f"{full} {value}\n")


def _escaped(word: str) -> str:
    return word.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
