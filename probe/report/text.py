"""A verdict as text for people: the verdict, what to do, the mechanisms, and with `verbose` the evidence."""
from __future__ import annotations

import json
import textwrap
from typing import Any

from ..verdict.catalogue import CODES
from ..verdict.remedies import filled

NARROWEST, WIDEST = 40, 100
SAYS = {
    "usable": "MCP servers can be confined on this host.",
    "limited": "MCP servers can be confined on this host, with limits.",
    "blocked": "Nothing on this host can confine MCP servers as it is.",
    "unknown": "It could not be told what works on this host.",
}
WITHOUT_LANDLOCK = "Landlock does not work on this host as it is; {recommended} does."
# What is printed: sign, sign in ASCII, colour. The word stands beside it, so that no sign is needed to understand it.
SIGNS = {
    "usable": ("✔", "+", "32"),
    "limited": ("◐", "~", "33"),
    "degraded": ("◐", "~", "33"),
    "blocked": ("✘", "x", "31"),
    "unavailable": ("✘", "x", "31"),
    "absent": ("·", "-", "2"),
    "unknown": ("?", "?", "33"),
    "error": ("✘", "x", "31"),
    "warning": ("!", "!", "33"),
    "info": ("·", "-", "2"),
}
ISOLATION = {
    "none": "without isolation",
    "landlock": "confined",
    "docker": "in docker",
    "podman": "in podman",
    "not_applicable": "remote (not applicable)",
    "unknown": "not readable",
}
WRAP = "Confine the servers that start without isolation: `probe wrap` shows the changes and asks first."


def render(
    verdict: dict[str, Any], width: int = 80, ascii: bool = False, color: bool = False, verbose: bool = False
) -> str:
    """The report, at most `width` columns wide; nothing in it breaks a terminal, whatever the facts hold."""
    page = _Page(width, ascii, color)
    page.head(verdict)
    page.to_do(_cures(verdict))
    page.gap()
    for name, row in verdict["mechanisms"].items():
        page.mechanism(name, row["state"], row["codes"])
    page.mechanism("scanners", verdict["scanner"]["state"], verdict["scanner"]["codes"])
    if verdict["scanner"]["warning"]:
        page.gap()
        page.add(verdict["scanner"]["warning"])
    page.servers(verdict)
    for row in verdict["findings"] if verbose else []:
        page.finding(row)
    if not verbose:
        page.gap()
        page.add("Evidence: probe host -v. A code: probe explain CODE.")
    return "\n".join(page.lines)


def explain(code: str, width: int = 80) -> str:
    """A code of the catalogue with its meaning and all its remedies, their braces left open. Raises `KeyError`."""
    row = plain_code(code)
    page = _Page(width, True, False)
    page.add(f"{code} ({row['severity']})")
    page.add(row["title"])
    page.gap()
    page.add(row["meaning"])
    if row["evidence"]:
        page.gap()
        page.add("Evidence: " + ", ".join(row["evidence"]))
    if row["remedies"]:
        page.gap()
        page.add("What to do, from narrow to broad; which of it applies is computed from the host:")
        for number, cure in enumerate(row["remedies"], 1):
            page.cure(number, cure)
    return "\n".join(page.lines)


def plain_code(code: str) -> dict[str, Any]:
    """{"code", "severity", "title", "meaning", "evidence", "remedies"} of a code. Raises `KeyError`."""
    row = CODES[code]
    return {"code": code, **row._asdict(), "evidence": list(row.evidence),
            "remedies": [filled(name, {}) for name in row.remedies]}


def _cures(verdict: dict[str, Any]) -> dict[str, str]:
    """What to do first: text and code of the narrowest remedy of each finding that is in the way of confinement."""
    cures: dict[str, str] = {}
    for row in verdict["findings"]:
        ours = row["mechanism"] in ("landlock", None) and not row["code"].startswith("SCANNER_")
        hits_servers = row["mechanism"] == "docker" and row["evidence"].get("arguments")
        if (ours or hits_servers) and row["severity"] != "info" and row["remedies"]:
            cures.setdefault(row["remedies"][0]["text"], row["code"])
    works = verdict["mechanisms"]["landlock"]["state"] in ("usable", "limited")
    if works and any(row["isolation"] == "none" for row in verdict["servers"]):
        cures[WRAP] = ""
    return cures


class _Page:
    """Lines of text, wrapped, with or without colours and signs."""

    def __init__(self, width: int, ascii: bool, color: bool) -> None:
        self.width = max(NARROWEST, min(width, WIDEST))
        self.ascii, self.color = ascii, color
        self.lines: list[str] = []

    def head(self, verdict: dict[str, Any]) -> None:
        state, recommended = verdict["verdict"], verdict["recommended"]
        said = SAYS[state]
        if recommended not in (None, "landlock"):
            said = WITHOUT_LANDLOCK.format(recommended=recommended)
        self.add(f"{self.sign(state)} {state}: {said}", color=SIGNS[state][2])
        name = (verdict.get("user") or {}).get("name") or "an unknown user"
        self.add(f"Seen as {name}." + (f" Mechanism to use: {recommended}." if recommended else ""))

    def to_do(self, cures: dict[str, str]) -> None:
        if not cures:
            return
        self.gap()
        self.add("What to do", color="1")
        for number, (text, code) in enumerate(cures.items(), 1):
            self.add(f"{number}. {text}" + (f" ({code})" if code else ""), indent=3, first=0)

    def mechanism(self, name: str, state: str, codes: list[str]) -> None:
        head = f"{self.sign(state)} {name:<10} {state:<11} "
        serious = [code for code in codes if CODES[code].severity != "info"]
        indent = len(head) if self.width >= 72 else 4
        self.add(head + ", ".join(serious or codes[:1]), indent=indent, first=0, color=SIGNS[state][2])

    def servers(self, verdict: dict[str, Any]) -> None:
        counted: dict[str, int] = {}
        for row in verdict["servers"]:
            counted[row["isolation"]] = counted.get(row["isolation"], 0) + 1
        if not counted:
            return
        self.gap()
        self.add("MCP servers: " + ", ".join(f"{count} {ISOLATION[name]}" for name, count in counted.items()) + ".")
        for finding in verdict["findings"]:
            for row in finding["evidence"].get("arguments") or []:
                self.add(
                    f"{row['server']}: argument {row['position']}, {row['flag']}: {row['says']}", indent=4, first=2
                )

    def finding(self, row: dict[str, Any]) -> None:
        self.gap()
        self.add(f"{self.sign(row['severity'])} {row['code']}", color=SIGNS[row["severity"]][2])
        self.add(row["title"] + ".", indent=2)
        for name, value in row["evidence"].items():
            self.add(f"{name}: {_shown(value)}", indent=6, first=2)
        for number, cure in enumerate(row["remedies"], 1):
            self.cure(number, cure)

    def cure(self, number: int, cure: dict[str, Any]) -> None:
        self.add(f"{number}. {cure['text']}", indent=5, first=2)
        reboot = "needs a reboot" if cure["reboot"] else "no reboot"
        self.add(f"scope: {cure['scope']}; risk: {cure['risk']}; {reboot}; undo: {cure['undo']}", indent=5)

    def sign(self, state: str) -> str:
        return SIGNS[state][1 if self.ascii else 0]

    def gap(self) -> None:
        self.lines.append("")

    def add(self, text: str, indent: int = 0, first: int | None = None, color: str = "") -> None:
        lead = " " * (indent if first is None else first)
        wrapped = textwrap.wrap(
            self.printable(text), self.width, initial_indent=lead, subsequent_indent=" " * indent,
            break_on_hyphens=False,
        )
        if self.color and color:
            wrapped = [f"\x1b[{color}m{line}\x1b[0m" for line in wrapped]
        self.lines += wrapped or [""]

    def printable(self, text: str) -> str:
        if self.ascii:
            return "".join(char if " " <= char <= "~" else "?" for char in text.replace("…", "..."))
        return "".join(char if char.isprintable() else "?" for char in text)


def _shown(value: Any) -> str:
    if value is None:
        return "not known"
    if isinstance(value, list):
        return ", ".join(_shown(entry) for entry in value) or "none"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
