"""What monitoring reads of this host: the textfile of node_exporter, kept true by the run that looked."""
from __future__ import annotations

import os
import time

from .. import __version__, safety
from ..report import prometheus, record
from .users import Answer

NAME = "mcp_confine.prom"


class MetricsRefused(Exception):
    """The file could not be written; the text says why and what to do."""


def leave(folder: str, results: Answer, dry_run: bool = False) -> Answer:
    """Writes the metrics of `results` (as `report.record.of_host` takes them) into `folder`, for all to read.

    {"changed", "path", "diff"}. The times in the file are always those of this run; `changed` says whether anything
    else differs, so that a run without a change is one. Raises `MetricsRefused`.
    """
    return put(folder, record.of_host("", results, record.iso(time.time())), dry_run)


def put(folder: str, host: record.Record, dry_run: bool = False) -> Answer:
    """The same for a host's record."""
    return _put(folder, prometheus.metrics(host, __version__), dry_run)


def remove(folder: str, dry_run: bool = False) -> Answer:
    """Takes the file away. Raises `MetricsRefused`."""
    return _put(folder, None, dry_run)


def _put(folder: str, text: str | None, dry_run: bool) -> Answer:
    path = os.path.join(folder, NAME)
    if text is not None and not os.path.isdir(folder):
        raise MetricsRefused(f"{folder}: is no folder on this host; make it, and give it to node_exporter as "
                             "--collector.textfile.directory")
    try:
        before = _read(path)
        old, new = prometheus.lasting(before or ""), prometheus.lasting(text or "")
        changed = old != new or (before is None) != (text is None)
        if not dry_run and text is None and before is not None:
            os.unlink(path)
        elif not dry_run and text is not None and text != before:
            safety.write(path, text.encode(), 0o644)
    except OSError as problem:
        raise MetricsRefused(f"{problem.filename or path}: {problem.strerror}; make room or make it writable and run "
                             "this again") from None
    return {"changed": changed, "path": path,
            "diff": [{"before_header": path, "after_header": path, "before": old, "after": new}] if changed else []}


def _read(path: str) -> str | None:
    """The regular file as it is, None where there is none; what is no file of ours counts as none to be kept."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with open(descriptor, encoding="utf-8", errors="replace") as file:
        return file.read()
