"""mcp-confine: find the isolation that works on a Linux host and put stdio MCP servers on it."""
from __future__ import annotations

from .confine import version

__version__ = version.VERSION
