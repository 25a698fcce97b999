"""mcp-confine: find the isolation that works on a Linux host and put stdio MCP servers on it."""
from __future__ import annotations

from .confine.version import VERSION as __version__
