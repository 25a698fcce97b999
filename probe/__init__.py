"""mcp-confine: find the isolation that works on a Linux host and put stdio MCP servers on it."""
from __future__ import annotations

__version__ = "0.1.0"
