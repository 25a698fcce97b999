"""The clients themselves, installed once from their npm packages into .lab/npm (which git ignores)."""

from __future__ import annotations

import fcntl
import json
import subprocess
from pathlib import Path

LAB = Path(__file__).resolve().parents[1] / ".lab" / "npm"
PACKAGES = (
    "@anthropic-ai/claude-code",
    "@openai/codex",
    "opencode-ai",
    "@google/gemini-cli",
    "@modelcontextprotocol/server-memory",
)
# npm leaves install scripts to the reader; these two only put the package's own program in place.
SCRIPTS = {"@anthropic-ai/claude-code": "install.cjs", "opencode-ai": "postinstall.mjs"}
INSTALL_SECONDS = 900


def installed() -> Path:
    """The folder of the programs. Raises `CalledProcessError` when npm could not bring them."""
    programs = LAB / "node_modules" / ".bin"
    LAB.mkdir(parents=True, exist_ok=True)
    with open(LAB / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other workers of this run wait for the one that installs
        if not (LAB / "complete").exists():
            _install()
    return programs


def _install() -> None:
    (LAB / "package.json").write_text(json.dumps({"private": True}))
    run = {"cwd": LAB, "check": True, "capture_output": True, "timeout": INSTALL_SECONDS}
    subprocess.run(["npm", "install", "--no-fund", "--no-audit", "--ignore-scripts", *PACKAGES], **run)
    for package, script in SCRIPTS.items():
        subprocess.run(["node", script], **{**run, "cwd": LAB / "node_modules" / package})
    (LAB / "complete").touch()


def memory_server() -> list[str]:
    """How to start the memory server, without a launcher in between."""
    node = subprocess.run(["node", "-p", "process.execPath"], check=True, capture_output=True, text=True).stdout.strip()
    return [node, str((LAB / "node_modules" / ".bin" / "mcp-server-memory").resolve())]
