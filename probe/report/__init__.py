"""Show: text and JSON from a verdict."""
from __future__ import annotations

from typing import Any


def document(verdict: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
    """What `probe --json` prints: the verdict and the facts behind it, as `docs/probe.schema.json` describes them."""
    return {**verdict, "facts": facts}
