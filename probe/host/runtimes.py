"""The runtimes that MCP servers are started with, as a client finds them."""
from __future__ import annotations

from .programs import first, search_path
from .read import Fact

NAMES = ("node", "npx", "bun", "deno", "python3", "uv", "uvx", "pipx")


def facts(root: str, home: str) -> dict[str, Fact]:
    """One fact per name (see `programs.program`), and the search path with where it is from."""
    return {"search_path": search_path(root, home), **{name: first(root, home, name) for name in NAMES}}
