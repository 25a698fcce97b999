"""The fleet's page: one file that needs nothing else, for a browser, a phone and paper. On the controller only."""
from __future__ import annotations

import base64
import functools
import hashlib
import os
from typing import Any

from . import fleet, record
from .text import ISOLATION, SAYS, _shown

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST = 400  # characters of one piece of evidence
SHOWN_REASONS = 12
# state: what it is called, what it means
HOST_STATES = {
    "protected": ("protected", "every server that was found is confined, and its denials were seen"),
    "unproved": ("not proved", "no server is open, and the denials were not seen for all"),
    "partly": ("partly", "some servers are confined or in containers, others run with all rights of their user"),
    "unprotected": ("unprotected", "its servers run with all rights of their user"),
    "unknown": ("unknown", "somebody's files could not be read"),
    "failed": ("failed", "the run stopped there before it could tell"),
    "unreachable": ("unreachable", "it did not answer"),
    "pending": ("pending", "its turn had not come"),
    "no_servers": ("no servers", "no client on it is configured to start a server"),
}
SERVER_STATES = {
    "confined": "confined",
    "failed": "failed its proof",
    "rolled_back": "failed its proof and was set back",
    "unconfined": "open",
    "refused": "open, failed its proof before",
    "unreadable": "not readable",
    "never_wrapped": "never wrapped",
    "remote": "remote",
}


class NoTemplates(Exception):
    """Jinja2 is not there; the text says how to get it."""


def page(document: dict[str, Any]) -> str:
    """`fleet.html` for a document of `probe.report.fleet`. Raises `NoTemplates` without Jinja2.

    Whatever the document holds, nothing in it becomes markup, a style or a script: every value is escaped, and the
    page's policy allows the one style and the one script that are ours, and nothing from anywhere else.
    """
    hosts = sorted(document["hosts"], key=fleet.attention)
    template, style, script = _parts()
    return template.render(
        document=document, hosts=hosts, summary=document["summary"], host_states=HOST_STATES,
        server_states=SERVER_STATES, isolation=ISOLATION, says=SAYS, safe=fleet.SAFE, is_open=record.is_open,
        evidence=evidence, shown_reasons=SHOWN_REASONS, choices=_choices(hosts), style=style, script=script,
        style_hash=_hash(style), script_hash=_hash(script))


@functools.lru_cache(maxsize=1)
def _parts() -> tuple[Any, str, str]:
    """The template, and the style and the script as markup."""
    try:
        import jinja2
        import markupsafe
    except ImportError:
        raise NoTemplates("the page is made with Jinja2, which is not installed here; install python3-jinja2, or the "
                          "package's extra `fleet`") from None

    def printed(value: Any) -> Any:
        return value if isinstance(value, markupsafe.Markup) else printable(value)

    environment = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE), autoescape=True, trim_blocks=True,
                                     lstrip_blocks=True, undefined=jinja2.StrictUndefined, finalize=printed)
    style, script = (markupsafe.Markup(_own(name)) for name in ("page.css", "page.js"))  # noqa: S704  files of ours
    return environment.get_template("page.html.j2"), style, script


def printable(value: Any) -> str:
    """The value as text without characters that steer: control characters, and those that turn the writing around."""
    if value is None:
        return "-"
    text = str(value)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else "\ufffd" for char in text)


def evidence(value: Any) -> str:
    text = _shown(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _choices(hosts: list[dict[str, Any]]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """(field, what it is called, [(value, what it is called with its count)]) of each list to filter by."""
    def listed(name: str, called: str, values: list[list[str]], names: dict[str, str]) -> tuple:
        counts: dict[str, int] = {}
        for value in (value for row in values for value in row):
            counts[value] = counts.get(value, 0) + 1
        order = sorted(counts, key=fleet.natural)
        return name, called, [(value, f"{names.get(value, value)} ({counts[value]})") for value in order]

    distributions = {distribution(row): (row["distribution"] or {}).get("name") or "not known" for row in hosts}
    states = {state: name for state, (name, _) in HOST_STATES.items()}
    return [
        listed("state", "State", [[row["state"]] for row in hosts], states),
        listed("verdict", "Verdict", [[row["verdict"] or "none"] for row in hosts], {"none": "no verdict"}),
        listed("code", "Code", [row["codes"] for row in hosts], {}),
        listed("distribution", "Distribution", [[distribution(row)] for row in hosts],
               {key: key if key != "none" else name for key, name in distributions.items()}),
        listed("abi", "Landlock ABI", [["none" if row["abi"] is None else str(row["abi"])] for row in hosts],
               {"none": "none or not known"}),
    ]


def distribution(host: dict[str, Any]) -> str:
    said = host["distribution"]
    return f"{said['id']} {said['version']}".strip() if said else "none"


def _own(name: str) -> str:
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
