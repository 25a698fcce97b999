"""A verdict as text for people: the verdict, what to do, the mechanisms, and with `verbose` the evidence."""
from __future__ import annotations

import json
import textwrap
from typing import Any

from ..verdict.catalogue import CODES
from ..verdict.remedies import REMEDIES, filled

NARROWEST, WIDEST = 40, 100
SAYS = {
    "usable": "MCP servers can be confined on this host.",
    "limited": "MCP servers can be confined on this host, with limits.",
    "blocked": "Nothing on this host can confine MCP servers as it is.",
    "unknown": "It could not be told what works on this host.",
}
WITHOUT_LANDLOCK = "Landlock does not work on this host; {recommended} does."
# (sign, ASCII sign, colour)
SIGNS = {
    "usable": ("✔", "[ok]", "32"), "limited": ("◐", "[limited]", "33"), "blocked": ("✘", "[blocked]", "31"),
    "absent": ("–", "[absent]", "2"), "not_applicable": ("–", "[n/a]", "2"), "unknown": ("?", "[unknown]", "33"),
    "degraded": ("◐", "[degraded]", "33"), "unavailable": ("✘", "[unavailable]", "31"),
    "error": ("✘", "[error]", "31"), "warning": ("!", "[warning]", "33"), "info": ("·", "[info]", "2"),
}
PLAIN = {"–": "-", "…": "...", "→": "->", "“": '"', "”": '"', "’": "'"}


def render(verdict: dict[str, Any], width: int = 80, ascii: bool = False, color: bool = False, verbose: bool = False) -> str:
    """The report, at most `width` columns wide; nothing in it breaks a terminal, whatever the facts hold."""
    return _Page(width, ascii, color).report(verdict, verbose)


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
            page.cure(number, cure, details=True)
    return "\n".join(page.lines)


def plain_code(code: str) -> dict[str, Any]:
    """{"code", "severity", "title", "meaning", "evidence", "remedies"} of a code. Raises `KeyError`."""
    row = CODES[code]
    return {"code": code, "severity": row.severity, "title": row.title, "meaning": row.meaning, "evidence": list(row.evidence),
            "remedies": [filled(name, {}) for name in row.remedies]}


class _Page:
    """Lines of text, wrapped, with or without colours and signs."""

    def __init__(self, width: int, ascii: bool, color: bool) -> None:
        self.width = max(NARROWEST, min(width, WIDEST))
        self.ascii, self.color = ascii, color
        self.lines: list[str] = []

    def report(self, verdict: dict[str, Any], verbose: bool) -> str:
        findings = verdict["findings"]
        said = SAYS[verdict["verdict"]]
        if verdict["recommended"] not in (None, "landlock"):
            said = WITHOUT_LANDLOCK.format(recommended=verdict["recommended"])
        user = (verdict.get("user") or {}).get("name")
        self.add(f"{self.sign(verdict['verdict'])} {said}", color=SIGNS[verdict["verdict"]][2])
        self.add(f"Seen as {user}." + (f" Use {verdict['recommended']}." if verdict["recommended"] else ""))
        self.to_do(verdict, findings)
        self.gap()
        for name, row in verdict["mechanisms"].items():
            self.mechanism(name, row["state"], row["codes"])
        self.mechanism("scanners", verdict["scanner"]["state"], verdict["scanner"]["codes"])
        if verdict["scanner"]["warning"]:
            self.gap()
            self.add(verdict["scanner"]["warning"])
        self.servers(verdict["servers"])
        if verbose:
            for row in findings:
                self.finding(row)
        elif findings:
            self.gap()
            self.add("Evidence: probe host -v. A code: probe explain CODE.")
        return "\n".join(self.lines)

    def to_do(self, verdict: dict[str, Any], findings: list[dict[str, Any]]) -> None:
        """The narrowest remedy of each finding that stands in the way of Landlock or of the probe itself."""
        cures: dict[str, str] = {}
        for row in findings:
            concerns = row["mechanism"] in ("landlock", None) or (row["mechanism"] == "docker" and row["evidence"].get("arguments"))
            if concerns and row["severity"] != "info" and row["remedies"]:
                cures.setdefault(row["remedies"][0]["text"], row["code"])
        if verdict["mechanisms"]["landlock"]["state"] in ("usable", "limited") and any(
                row["isolation"] == "none" for row in verdict["servers"]):
            cures["Confine the servers that start without isolation: `probe wrap` (shows the changes and asks first)."] = ""
        if not cures:
            return
        self.gap()
        self.add("What to do", color="1")
        for number, (text, code) in enumerate(cures.items(), 1):
            self.add(f"{number}. {text}" + (f" ({code})" if code else ""), indent=3, first=0)

    def mechanism(self, name: str, state: str, codes: list[str]) -> None:
        head = f"{self.sign(state)} {name:<11} {state.replace('_', ' '):<14}"
        shown = [code for code in codes if CODES[code].severity != "info"] or codes[:1]
        self.add(head + " " + ", ".join(shown), indent=len(head) + 1 if self.width > 60 else 4, first=0, color=SIGNS[state][2])

    def servers(self, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        counted: dict[str, int] = {}
        for row in rows:
            counted[row["isolation"]] = counted.get(row["isolation"], 0) + 1
        words = {"none": "without isolation", "landlock": "confined", "not_applicable": "remote (not applicable)", "unknown": "unreadable",
                 "docker": "in docker", "podman": "in podman"}
        self.gap()
        self.add("MCP servers: " + ", ".join(f"{count} {words[name]}" for name, count in counted.items()) + ".")

    def finding(self, row: dict[str, Any]) -> None:
        self.gap()
        self.add(f"{self.sign(row['severity'])} {row['code']}", color=SIGNS[row["severity"]][2])
        self.add(row["title"] + ".", indent=2)
        for name, value in row["evidence"].items():
            self.add(f"{name}: {_shown(value)}", indent=6, first=2)
        for number, cure in enumerate(row["remedies"], 1):
            self.cure(number, cure, details=True)

    def cure(self, number: int, cure: dict[str, Any], details: bool) -> None:
        self.add(f"{number}. {cure['text']}", indent=5, first=2)
        if details:
            more = f"scope: {cure['scope']}; risk: {cure['risk']}; {'needs a reboot' if cure['reboot'] else 'no reboot'}; undo: {cure['undo']}"
            self.add(more, indent=5)

    def sign(self, state: str) -> str:
        return SIGNS[state][1 if self.ascii else 0]

    def gap(self) -> None:
        self.lines.append("")

    def add(self, text: str, indent: int = 0, first: int | None = None, color: str = "") -> None:
        wrapped = textwrap.wrap(self.printable(text), self.width, initial_indent=" " * (indent if first is None else first),
                                subsequent_indent=" " * indent, break_on_hyphens=False) or [""]
        if self.color and color:
            wrapped = [f"\x1b[{color}m{line}\x1b[0m" for line in wrapped]
        self.lines += wrapped

    def printable(self, text: str) -> str:
        if self.ascii:
            for char, plain in PLAIN.items():
                text = text.replace(char, plain)
            return "".join(char if " " <= char <= "~" else "?" for char in text)
        return "".join(char if char.isprintable() else "?" for char in text)


def _shown(value: Any) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, list):
        return ", ".join(_shown(entry) for entry in value) or "none"
    if isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
