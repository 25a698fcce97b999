"""The report as files: written whole, over the earlier ones, whose hosts it continues."""
from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any

from . import fleet, html, saved
from .record import Record

PAGE, DATA = "fleet.html", "fleet.json"


class NotWritten(Exception):
    """The report could not be written; the text names the path and the next step."""


def leave(folder: str, records: list[Record], inventory: list[str], now: str) -> tuple[dict[str, Any], list[str]]:
    """Writes `fleet.html` and `fleet.json` into `folder`, which is made where it is missing.

    Hosts of the `inventory` that have no record keep that of the report that is there. Returns the document and what a
    person should know. Raises `NotWritten`.
    """
    path = os.path.join(folder, DATA)
    notices: list[str] = []
    earlier: list[Record] = []
    if os.path.exists(path):
        try:
            earlier = saved.read([path])
        except saved.NotAResult as problem:
            notices.append(f"the earlier report is not continued: {problem}")
    document = fleet.document(fleet.continued(records, earlier, inventory), now)
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as problem:
        raise NotWritten(f"no report: {folder}: {problem.strerror}; name another folder") from None
    write(path, text(document))
    try:
        write(os.path.join(folder, PAGE), html.page(document))
    except html.NoTemplates as problem:
        notices.append(str(problem))
    return document, notices


def text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"


def write(path: str, content: str) -> None:
    """The old file or the new one at any moment. A new one is its owner's alone, since it tells where a fleet is weak;
    one that is there keeps its permissions. Raises `NotWritten`."""
    beside = None
    try:
        mode = 0o600
        with contextlib.suppress(FileNotFoundError):
            mode = os.stat(path).st_mode & 0o777
        real = os.path.realpath(path)
        number, beside = tempfile.mkstemp(prefix=".mcp-confine-", dir=os.path.dirname(real))
        with open(number, "w", encoding="utf-8") as file:
            file.write(content)
            os.fchmod(number, mode)
        os.rename(beside, real)
    except OSError as problem:
        with contextlib.suppress(OSError, TypeError):
            os.unlink(beside)  # type: ignore[arg-type]
        raise NotWritten(f"{path}: {problem.strerror}; make room or name another place") from None
