"""Pages of the documentation that are made from tables: `python3 -m probe.report.pages > docs/codes.md`."""
from __future__ import annotations

from ..verdict.catalogue import CODES
from .text import plain_code

HEAD = """# Codes

What `probe` finds, and what to do about it. A code is never renamed once it is released; `probe explain CODE` prints
its section. Severity is about the mechanism that a code belongs to: an **error** blocks it, a **warning** limits it or
asks for a decision, an **info** explains.

Remedies stand from narrow to broad. `probe` prints those that apply to the host, with what stands in angle brackets
here filled in from it.
"""


def codes() -> str:
    """`docs/codes.md`, whole."""
    parts = [
        HEAD,
        "\n".join(f"- [`{code}`](#{code.lower()}) {row.severity}: {row.title}" for code, row in CODES.items()),
    ]
    parts += [_section(code) for code in CODES]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _section(code: str) -> str:
    row = plain_code(code)
    lines = [f"## {code}", "", f"**{row['severity']}**: {row['title']}.", "", row["meaning"]]
    if row["evidence"]:
        lines += ["", "Evidence: " + ", ".join(f"`{name}`" for name in row["evidence"]) + "."]
    for number, cure in enumerate(row["remedies"], 1):
        reboot = "; needs a reboot" if cure["reboot"] else ""
        lines += ["" if number == 1 else None, f"{number}. {_code_free(cure['text'])}",
                  f"    *Scope:* {_code_free(cure['scope'])}; *risk:* {_code_free(cure['risk'])}; "
                  f"*undo:* {_code_free(cure['undo'])}{reboot}."]
    return "\n".join(line for line in lines if line is not None)


def _code_free(text: str) -> str:
    """Angle brackets outside of code spans would be taken for HTML."""
    pieces = text.split("`")
    return "`".join(piece if index % 2 else piece.replace("<", "\\<") for index, piece in enumerate(pieces))


if __name__ == "__main__":
    print(codes(), end="")
