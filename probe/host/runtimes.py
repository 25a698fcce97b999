"""The runtimes that MCP servers are started with, as a client finds them."""
from __future__ import annotations

from .programs import Programs
from .read import Fact

NAMES = ("node", "npx", "bun", "deno", "python3", "uv", "uvx", "pipx")


def facts(root: str, home: str) -> dict[str, Fact]:
    """One fact per name (see `programs.program`), and the search path with where it is from."""
    programs = Programs(root, home)
    return {"search_path": programs.path, **{name: programs.first(name) for name in NAMES}}
