"""Allow and deny lists that match a server by its command: wrapping would change what they do, so they come first."""
from __future__ import annotations

import glob
import os
from typing import Any, Callable

from . import jsonc
from .document import DocumentError, KeyPath
from .replace import contents

CLAUDE_LISTS = ("allowedMcpServers", "deniedMcpServers")
CLAUDE_MANAGED = "/etc/claude-code/managed-settings.json"
CLAUDE_MANAGED_PARTS = "/etc/claude-code/managed-settings.d/*.json"
CODEX_REQUIREMENTS = "/etc/codex/requirements.toml"


def reason(reader: str, home: str, project: str, server: str, argv: list[str]) -> str:
    """Why a list of the client concerns this server, naming the list; "" when none does or the client has none."""
    return READERS[reader](home, project, server, argv) if reader in READERS else ""


def _claude(home: str, project: str, server: str, argv: list[str]) -> str:
    paths = [CLAUDE_MANAGED, *sorted(glob.glob(CLAUDE_MANAGED_PARTS)), os.path.join(home, ".claude", "settings.json")]
    if project:
        paths += [os.path.join(project, ".claude", name) for name in ("settings.json", "settings.local.json")]
    for path in paths:
        try:
            found = jsonc.read(contents(path), tuple(KeyPath((name,), "fact") for name in CLAUDE_LISTS))
        except FileNotFoundError:
            continue
        except (OSError, DocumentError):
            return f"{path} cannot be read, and it may hold a list of allowed commands"
        for keys, _, node in found:
            rules = node.plain() if node.kind == "array" else []
            commands = [rule["serverCommand"] for rule in rules if isinstance(rule, dict) and "serverCommand" in rule]
            if keys == ("allowedMcpServers",) and commands:
                return f"allowedMcpServers in {path} allows by command; add the wrapped command there first"
            if argv in commands:
                return f"deniedMcpServers in {path} denies it by command; the wrapped command would not be denied"
    return ""


def _codex(home: str, project: str, server: str, argv: list[str]) -> str:
    if not os.path.lexists(CODEX_REQUIREMENTS):
        return ""
    try:
        from . import edit_toml

        found = edit_toml.read(contents(CODEX_REQUIREMENTS), (KeyPath(("mcp_servers",), "fact"),))
    except (OSError, DocumentError):
        return f"{CODEX_REQUIREMENTS} cannot be read, and it may require a command"
    servers: dict[str, Any] = found[0].node.plain() if found and found[0].node.kind == "object" else {}
    identity = servers.get(server, {}).get("identity", {}) if isinstance(servers.get(server), dict) else {}
    if "command" in identity:
        return f"{CODEX_REQUIREMENTS} requires its command; change it there first"
    return ""


def _goose(home: str, project: str, server: str, argv: list[str]) -> str:
    if not os.environ.get("GOOSE_ALLOWLIST"):
        return ""
    return "GOOSE_ALLOWLIST allows by command; add the wrapped command there first"


READERS: dict[str, Callable[[str, str, str, list[str]], str]] = {"claude": _claude, "codex": _codex, "goose": _goose}
