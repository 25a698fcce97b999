"""Known launchers and servers are recognised from the words of the command."""
from __future__ import annotations

import pytest

from probe.confine.presets import SERVERS, recognise

FILES = "@modelcontextprotocol/server-filesystem"


@pytest.mark.parametrize(("command", "name", "package"), [
    (["npx", "-y", FILES, "/data"], f"npx: {FILES}", FILES),
    (["/usr/bin/npx", "--yes", f"{FILES}@2025.1.1", "-x"], f"npx: {FILES}", FILES),
    (["npx", "-p", FILES, "mcp-server-filesystem", "/data"], f"npx: {FILES}", FILES),
    (["npx", "--package=tavily-mcp@latest", "tavily-mcp"], "npx: tavily-mcp", "tavily-mcp"),
    (["npm", "exec", "--", FILES], f"npm: {FILES}", FILES),
    (["pnpm", "dlx", "exa-mcp-server"], "pnpm: exa-mcp-server", "exa-mcp-server"),
    (["bunx", "firecrawl-mcp"], "bunx: firecrawl-mcp", "firecrawl-mcp"),
    (["uvx", "mcp-server-git", "--repository", "/repo"], "uvx: mcp-server-git", "mcp-server-git"),
    (["uvx", "--from", "mcp-server-git==2025.1", "mcp-server-git"], "uvx: mcp-server-git", "mcp-server-git"),
    (["uvx", "--python", "3.12", "mcp-server-time@latest"], "uvx: mcp-server-time", "mcp-server-time"),
    (["uvx", "mcp-server-fetch[extra]>=1"], "uvx: mcp-server-fetch", "mcp-server-fetch"),
    (["uv", "tool", "run", "mcp-server-time"], "uv: mcp-server-time", "mcp-server-time"),
    (["pipx", "run", "mcp-server-sqlite"], "pipx: mcp-server-sqlite", "mcp-server-sqlite"),
    (["python3", "-m", "mcp_server_git"], "python: mcp_server_git", "mcp_server_git"),
    (["/opt/venv/bin/python3.12", "-m", "mcp_server_time"], "python: mcp_server_time", "mcp_server_time"),
    (["node", f"/x/node_modules/{FILES}/dist/index.js", "/d"], f"node: {FILES}", FILES),
    (["node", "/x/node_modules/tavily-mcp/build/index.js"], "node: tavily-mcp", "tavily-mcp"),
    (["mcp-server-git"], "mcp-server-git", "mcp-server-git"),
    (["/usr/local/bin/mcp-server-time"], "mcp-server-time", "mcp-server-time"),
    (["python3", "server.py"], "python", "server"),
    (["node", "-e", "1"], "node", ""),
    (["some-binary", "--stdio"], "none", "some-binary"),
    (["npx"], "npx", ""),
])
def test_a_command_is_recognised(command, name, package):
    found = recognise(command)
    assert (found.name, found.package) == (name, package)


def test_a_launcher_that_fetches_keeps_the_network_that_its_server_would_not_need():
    assert ("--net", "none") in recognise(["mcp-server-time"]).options
    assert ("--net", "none") in recognise(["python3", "-m", "mcp_server_time"]).options
    assert ("--net", "none") not in recognise(["uvx", "mcp-server-time"]).options


def test_a_script_and_the_project_of_uv_are_remembered_as_the_programs_own():
    assert recognise(["node", "--enable-source-maps", "dist/index.js", "x.js"]).scripts == ["dist/index.js"]
    assert recognise(["uv", "--directory", "/srv/app", "run", "server.py"]).scripts == ["/srv/app", "server.py"]
    assert recognise(["python3", "-u", "/srv/app/server.py"]).scripts == ["/srv/app/server.py"]
    assert recognise(["deno", "run", "-A", "main.ts"]).scripts == ["main.ts"]
    assert recognise(["bash", "-lc", "node x.js"]).scripts == []


def test_every_preset_is_written_in_the_language_of_policy_files():
    from probe.confine.policy import check_text

    for server, options in SERVERS.items():
        check_text("\n".join(options), server)
