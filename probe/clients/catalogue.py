"""The MCP clients of Linux hosts as data: a new client is one row of `CLIENTS`.

docs/clients.md is generated from this table.
"""
from __future__ import annotations

from typing import NamedTuple

from .document import KeyPath


class Shape(NamedTuple):
    """How an entry says what to start. `inside` is the member that holds the rest, "" for the entry itself.

    `args` is "" when `command` is a list that holds them. `env` is a map; `env_names` a list of names passed through.
    """

    name: str
    inside: str = ""
    command: str = "command"
    args: str = "args"
    env: str = "env"
    env_names: str = "env_vars"


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("plain"),
        Shape("list", args="", env="environment"),
        Shape("goose", command="cmd", env="envs", env_names="env_keys"),
        Shape("nested transport", inside="transport"),
        Shape("nested command", inside="command", command="path"),  # Zed before 2025
    )
}


class Place(NamedTuple):
    """Where a client keeps servers.

    `scope`: user, project (`path` is relative to the project) or system. `path` may begin with `~` or a variable of
    `FOLDERS` and may hold `*`. `format`: json, jsonc, json5, toml, yaml or opaque. `fixed` says why the file is never
    edited; it is only reported.
    """

    scope: str
    format: str
    path: str
    keys: tuple[KeyPath, ...]
    fixed: str = ""


class Client(NamedTuple):
    """One client. `remote` are the members that mark an entry as remote, beside `url`.

    `switch` is the member that turns a server on or off. `variables` names the syntax of `variables.SYNTAXES` that it
    expands in arguments too, "" when it is not known to. `lists` names its allow and deny lists by command, of
    `lists.READERS`. `lock` is the suffix of its lock folder. `sure`: A vendor, B third parties, C sources disagree.
    """

    name: str
    title: str
    places: tuple[Place, ...]
    shapes: tuple[str, ...] = ("plain",)
    remote: tuple[str, ...] = ()
    switch: str = ""
    variables: str = ""
    rewrites: str = ""
    lock: str = ""
    lists: str = ""
    strict: bool = False
    asks_again: bool = False
    sure: str = "A"


# What the variables in `Place.path` stand for when they are not set; "" means that there is no such place then.
FOLDERS = {
    "XDG_CONFIG_HOME": "~/.config",
    "XDG_DATA_HOME": "~/.local/share",
    "CLAUDE_CONFIG_DIR": "~",
    "CODEX_HOME": "~/.codex",
    "COPILOT_HOME": "~/.copilot",
    "CLINE_DATA_DIR": "~/.cline/data",
    "CLINE_MCP_SETTINGS_PATH": "",
    "OPENCODE_CONFIG": "",
    "OPENCODE_CONFIG_DIR": "~/.config/opencode",
    "GOOSE_PATH_ROOT": "",
    "HERMES_HOME": "~/.hermes",
    "OTERM_DATA_DIR": "~/.local/share/oterm",
    "GEMINI_CLI_SYSTEM_SETTINGS_PATH": "/etc/gemini-cli/settings.json",
    "GEMINI_CLI_SYSTEM_DEFAULTS_PATH": "/etc/gemini-cli/system-defaults.json",
}


def _at(path: str, holds: str = "map") -> KeyPath:
    return KeyPath(tuple(path.split("/")) if path else (), holds)


MCP_SERVERS = (_at("mcpServers"),)
SERVERS = (_at("servers"),)
CLAUDE = (_at("mcpServers"), _at("projects/*/mcpServers"))
VS_CODE_SETTINGS = (_at("mcp/servers"), _at("mcp.servers"))
BLOCK = (_at("mcpServers", "array"), _at("mcpServers"), _at("projects/*/mcpServers"), _at("", "bare"))


def _user(format: str, *paths: str, keys: tuple[KeyPath, ...] = MCP_SERVERS, fixed: str = "") -> tuple[Place, ...]:
    return tuple(Place("user", format, path, keys, fixed) for path in paths)


def _project(format: str, *paths: str, keys: tuple[KeyPath, ...] = MCP_SERVERS) -> tuple[Place, ...]:
    return tuple(Place("project", format, path, keys) for path in paths)


def _system(format: str, *paths: str, keys: tuple[KeyPath, ...] = MCP_SERVERS) -> tuple[Place, ...]:
    return tuple(Place("system", format, path, keys) for path in paths)


CLIENTS: tuple[Client, ...] = (
    Client(
        "claude-code", "Claude Code",
        _user("json", "$CLAUDE_CONFIG_DIR/.claude.json", keys=CLAUDE)
        + _project("json", ".mcp.json")
        + _system("json", "/etc/claude-code/managed-mcp.json"),
        variables="claude", rewrites="constantly, by every running claude", lists="claude",
    ),
    Client(
        "claude-desktop", "Claude Desktop",
        _user("json", "$XDG_CONFIG_HOME/Claude/claude_desktop_config.json"),
        rewrites="when a setting or connector changes", sure="B",
    ),
    Client(
        "cursor", "Cursor",
        _user("json", "~/.cursor/mcp.json") + _project("json", ".cursor/mcp.json"),
        switch="disabled", variables="editor", asks_again=True,
    ),
    Client(
        "vscode", "VS Code",
        _user("jsonc", "$XDG_CONFIG_HOME/Code/User/mcp.json", "$XDG_CONFIG_HOME/Code/User/profiles/*/mcp.json",
              "~/.vscode/mcp.json", "$XDG_CONFIG_HOME/Code - Insiders/User/mcp.json",
              "~/.vscode-server/data/User/mcp.json", keys=SERVERS)
        + _user("jsonc", "$XDG_CONFIG_HOME/Code/User/settings.json",
                "$XDG_CONFIG_HOME/Code - Insiders/User/settings.json", keys=VS_CODE_SETTINGS)
        + _project("jsonc", ".vscode/mcp.json", keys=SERVERS)
        + _project("jsonc", ".vscode/settings.json", keys=VS_CODE_SETTINGS),
        variables="editor", rewrites="on MCP: Add Server and when it migrates entries", asks_again=True,
    ),
    Client(
        "vscodium", "VSCodium",
        _user("jsonc", "$XDG_CONFIG_HOME/VSCodium/User/mcp.json", "$XDG_CONFIG_HOME/Code - OSS/User/mcp.json",
              keys=SERVERS),
        variables="editor", asks_again=True, sure="C",
    ),
    Client(
        "windsurf", "Windsurf",
        _user("json", "~/.codeium/windsurf/mcp_config.json", "~/.codeium/mcp_config.json"),
        remote=("serverUrl",), switch="disabled", variables="editor", rewrites="from its marketplace", lists="windsurf",
    ),
    Client(
        "devin", "Devin",
        _user("json", "$XDG_CONFIG_HOME/devin/mcp_config.json")
        + _project("json", ".devin/mcp_config.json", ".devin/mcp_config.local.json"),
        remote=("serverUrl",), sure="B",
    ),
    Client(
        "zed", "Zed",
        _user("jsonc", "$XDG_CONFIG_HOME/zed/settings.json", keys=(_at("context_servers"),))
        + _project("jsonc", ".zed/settings.json", keys=(_at("context_servers"),)),
        shapes=("nested command", "plain"), switch="enabled", rewrites="in place, from its settings editor",
    ),
    Client(
        "codex", "Codex",
        _user("toml", "$CODEX_HOME/config.toml", "$CODEX_HOME/*.config.toml", keys=(_at("mcp_servers"),))
        + _project("toml", ".codex/config.toml", keys=(_at("mcp_servers"),))
        + _system("toml", "/etc/codex/config.toml", keys=(_at("mcp_servers"),)),
        switch="enabled", rewrites="all servers on codex mcp add, dropping comments and unknown keys", lists="codex",
    ),
    Client(
        "gemini-cli", "Gemini CLI",
        _user("jsonc", "~/.gemini/settings.json") + _project("jsonc", ".gemini/settings.json")
        + _system("jsonc", "$GEMINI_CLI_SYSTEM_SETTINGS_PATH", "$GEMINI_CLI_SYSTEM_DEFAULTS_PATH"),
        remote=("httpUrl",), variables="gemini", rewrites="when a setting changes, losing layout",
    ),
    Client(
        "qwen-code", "Qwen Code",
        _user("jsonc", "~/.qwen/settings.json") + _project("jsonc", ".qwen/settings.json"),
        remote=("httpUrl",), variables="gemini", rewrites="when a setting changes, losing layout",
    ),
    Client(
        "goose", "Goose",
        _user("yaml", "$XDG_CONFIG_HOME/goose/config.yaml", "$GOOSE_PATH_ROOT/config/config.yaml",
              keys=(_at("extensions"),)),
        shapes=("goose",), remote=("uri",), switch="enabled",
        rewrites="the whole file, when a setting changes", lists="goose",
    ),
    Client(
        "continue", "Continue",
        _user("yaml", "~/.continue/config.yaml", keys=(_at("mcpServers", "array"),))
        + _user("yaml", "~/.continue/mcpServers/*.yaml", "~/.continue/mcpServers/*.yml",
                keys=(_at("mcpServers", "array"),))
        + _user("json", "~/.continue/mcpServers/*.json", keys=BLOCK)
        + _project("yaml", ".continue/config.yaml", ".continue/mcpServers/*.yaml", ".continue/mcpServers/*.yml",
                   keys=(_at("mcpServers", "array"),))
        + _project("json", ".continue/mcpServers/*.json", keys=BLOCK),
    ),
    Client(
        "cline", "Cline",
        _user("json", "$CLINE_DATA_DIR/settings/cline_mcp_settings.json", "$CLINE_MCP_SETTINGS_PATH",
              "~/.cline/mcp.json",
              "$XDG_CONFIG_HOME/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
              "$XDG_CONFIG_HOME/Cursor/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
        shapes=("nested transport", "plain"), switch="disabled", rewrites="on every change in its panel", lock=".lock",
    ),
    Client(
        "roo", "Roo Code",
        _user("json", "$XDG_CONFIG_HOME/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json")
        + _project("json", ".roo/mcp.json"),
        switch="disabled", variables="editor", rewrites="on every change in its panel", lock=".lock",
    ),
    Client(
        "kilo", "Kilo",
        _user("jsonc", "$XDG_CONFIG_HOME/kilo/kilo.jsonc", "$XDG_CONFIG_HOME/kilo/kilo.json", keys=(_at("mcp"),))
        + _project("jsonc", "kilo.jsonc", "kilo.json", ".kilo/kilo.jsonc", ".kilo/kilo.json", keys=(_at("mcp"),)),
        shapes=("list",), switch="enabled", variables="opencode", strict=True, sure="B",
    ),
    Client(
        "opencode", "opencode",
        _user("jsonc", "$OPENCODE_CONFIG_DIR/opencode.json", "$OPENCODE_CONFIG_DIR/opencode.jsonc",
              "$XDG_CONFIG_HOME/opencode/opencode.json", "$XDG_CONFIG_HOME/opencode/opencode.jsonc",
              "~/.opencode/opencode.json", "~/.opencode/opencode.jsonc", "$OPENCODE_CONFIG", keys=(_at("mcp"),))
        + _project("jsonc", "opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc",
                   keys=(_at("mcp"),))
        + _system("jsonc", "/etc/opencode/opencode.json", "/etc/opencode/opencode.jsonc", keys=(_at("mcp"),)),
        shapes=("list",), switch="enabled", variables="opencode", rewrites="on opencode mcp add",
        strict=True, asks_again=True,
    ),
    Client(
        "crush", "Crush",
        _user("json", "$XDG_CONFIG_HOME/crush/crush.json", keys=(_at("mcp"),))
        + _project("json", ".crush.json", "crush.json", keys=(_at("mcp"),))
        + _system("json", "/etc/crush/crush.json", keys=(_at("mcp"),))
        + _user("opaque", "$XDG_CONFIG_HOME/crush/crushrc", keys=(), fixed="it is a shell script, which is not edited"),
        switch="disabled",
    ),
    Client(
        "copilot-cli", "Copilot CLI",
        _user("json", "$COPILOT_HOME/mcp-config.json") + _project("json", ".mcp.json", ".github/mcp.json"),
        sure="B",
    ),
    Client(
        "copilot-jetbrains", "Copilot for JetBrains",
        _user("json", "$XDG_CONFIG_HOME/github-copilot/intellij/mcp.json", keys=SERVERS), sure="B",
    ),
    Client(
        "jetbrains", "JetBrains AI Assistant and Junie",
        _user("json", "~/.ai/mcp/mcp.json", "~/.junie/mcp/mcp.json")
        + _project("json", ".ai/mcp/mcp.json", ".junie/mcp/mcp.json"),
        sure="B",
    ),
    Client(
        "amazon-q", "Amazon Q",
        _user("json", "~/.aws/amazonq/cli-agents/*.json", "~/.aws/amazonq/mcp.json",
              "~/.aws/amazonq/agents/default.json")
        + _project("json", ".amazonq/cli-agents/*.json", ".amazonq/mcp.json"),
    ),
    Client(
        "kiro", "Kiro",
        _user("json", "~/.kiro/settings/mcp.json", "~/.kiro/agents/*.json")
        + _project("json", ".kiro/settings/mcp.json", ".kiro/agents/*.json")
        + _user("json", "~/.kiro/powers/installed/*/mcp.json",
                fixed="it belongs to an installed power, which updates overwrite"),
        switch="disabled", rewrites="from its settings panel",
    ),
    Client("lm-studio", "LM Studio", _user("json", "~/.lmstudio/mcp.json", "~/.cache/lm-studio/mcp.json")),
    Client("warp", "Warp", _user("json", "~/.warp/.mcp.json") + _project("json", ".warp/.mcp.json"), sure="B"),
    Client(
        "amp", "Amp",
        _user("jsonc", "$XDG_CONFIG_HOME/amp/settings.json", "$XDG_CONFIG_HOME/amp/settings.jsonc",
              keys=(_at("amp.mcpServers"),))
        + _project("jsonc", ".amp/settings.json", ".amp/settings.jsonc", keys=(_at("amp.mcpServers"),)),
        sure="B",
    ),
    Client(
        "factory", "Factory droid",
        _user("json", "~/.factory/mcp.json") + _project("json", ".factory/mcp.json"), sure="B",
    ),
    Client(
        "augment", "Augment",
        _user("json", "~/.augment/settings.json")
        + _project("json", ".augment/settings.json", ".augment/settings.local.json"),
        sure="B",
    ),
    Client(
        "trae", "Trae",
        _user("json", "$XDG_CONFIG_HOME/Trae/User/mcp.json", "$XDG_CONFIG_HOME/Trae/mcp.json",
              "$XDG_CONFIG_HOME/trae/mcp.json")
        + _project("json", ".trae/mcp.json"),
        sure="C",
    ),
    Client(
        "antigravity", "Antigravity",
        _user("json", "~/.gemini/config/mcp_config.json", "~/.gemini/antigravity/mcp_config.json")
        + _project("json", ".agents/mcp_config.json"),
        remote=("serverUrl",), sure="B",
    ),
    Client("rovo-dev", "Rovo Dev CLI", _user("json", "~/.rovodev/mcp.json") + _project("json", ".rovodev/mcp.json")),
    Client(
        "mcpproxy", "mcpproxy",
        _user("json", "~/.mcpproxy/mcp_config.json",
              keys=(_at("mcpServers", "array"), _at("docker_isolation", "fact"))),
        switch="enabled", rewrites="from its API, UI and command line",
    ),
    Client(
        "mcphub-nvim", "mcphub.nvim",
        _user("json5", "$XDG_CONFIG_HOME/mcphub/servers.json", keys=MCP_SERVERS + SERVERS), switch="disabled",
    ),
    Client(
        "mcporter", "MCPorter",
        _user("jsonc", "~/.mcporter/mcporter.json", "~/.mcporter/mcporter.jsonc")
        + _project("jsonc", "config/mcporter.json"),
        shapes=("list", "plain"),
    ),
    Client(
        "fast-agent", "fast-agent",
        _project("yaml", "fast-agent.yaml", "fastagent.config.yaml", keys=(_at("mcp/servers"),)),
    ),
    Client("oterm", "oterm", _user("json", "$OTERM_DATA_DIR/config.json", "$XDG_DATA_HOME/oterm/config.json")),
    Client("mcp-cli", "mcp-cli", _project("json", "server_config.json")),
    Client("librechat", "LibreChat", _project("yaml", "librechat.yaml"), variables="braces"),
    Client(
        "kimi", "Kimi CLI",
        _user("json", "~/.kimi/mcp.json", "~/.kimi-code/mcp.json") + _project("json", ".kimi-code/mcp.json"), sure="B",
    ),
    Client("vibe", "Mistral Vibe", _user("toml", "~/.vibe/config.toml", keys=(_at("mcp_servers", "array"),)), sure="B"),
    Client(
        "grok-cli", "Grok CLI",
        _user("toml", "~/.grok/config.toml", keys=(_at("mcp_servers"),))
        + _project("toml", ".grok/config.toml", keys=(_at("mcp_servers"),)),
        switch="enabled", sure="B",
    ),
    Client(
        "reasonix", "Reasonix",
        _user("toml", "~/.reasonix/config.toml", keys=(_at("plugins", "array"),))
        + _project("toml", "reasonix.toml", keys=(_at("plugins", "array"),)),
        sure="B",
    ),
    Client("hermes", "Hermes agent", _user("yaml", "$HERMES_HOME/config.yaml", keys=(_at("mcp_servers"),)), sure="B"),
    Client(
        "muse", "Muse Code", _user("json", "$XDG_CONFIG_HOME/muse/settings.json", keys=(_at("mcp_servers"),)), sure="B",
    ),
    Client("deep-agents", "Deep Agents CLI", _user("json", "~/.deepagents/.mcp.json"), sure="B"),
    Client("qoder", "Qoder", _user("json", "~/.qoder/mcp.json"), sure="B"),
    Client(
        "comate", "Baidu Comate",
        _user("json", "~/.comate/mcp.json") + _project("json", ".comate/mcp.json", ".comate/mcp.local.json"),
    ),
    Client("sema4", "Sema4 Studio", _user("json", "~/.sema4ai/sema4ai-studio/mcp_servers.json"), sure="B"),
    Client("witsy", "Witsy", _user("json", "$XDG_CONFIG_HOME/Witsy/settings.json"), sure="C"),
    Client("tome", "Tome", _user("json", "~/.tome/mcp_config.json"), sure="C"),
    Client("enconvo", "Enconvo", _user("json", "$XDG_CONFIG_HOME/enconvo/mcp_config.json"), sure="C"),
    Client(
        "bedrock-client", "Amazon Bedrock Client", _user("json", "~/Amazon Bedrock Client/mcp_config.json"), sure="C",
    ),
    Client(
        "claude-code-plugins", "Claude Code plugins",
        _user("json", "~/.claude/plugins/cache/*/*/*/.mcp.json", "~/.claude/plugins/repos/*/*/.mcp.json",
              keys=(*MCP_SERVERS, _at("")), fixed="it belongs to a plugin, which updates overwrite"),
    ),
    Client(
        "gemini-extensions", "Gemini CLI extensions",
        _user("jsonc", "~/.gemini/extensions/*/gemini-extension.json",
              fixed="it belongs to an extension, which updates overwrite"),
        remote=("httpUrl",),
    ),
    Client(
        "codex-plugins", "Codex plugins",
        _user("json", "$CODEX_HOME/plugins/*/.mcp.json", "$CODEX_HOME/plugins/*/*/.mcp.json",
              keys=(*MCP_SERVERS, _at("")), fixed="it belongs to a plugin, which updates overwrite"),
    ),
    Client(
        "cherry-studio", "Cherry Studio",
        _user("opaque", "$XDG_CONFIG_HOME/CherryStudio", keys=(), fixed="its servers live in a database"), sure="B",
    ),
    Client(
        "dyad", "dyad", _user("opaque", "$XDG_CONFIG_HOME/dyad", keys=(), fixed="its servers live in a database"),
        sure="B",
    ),
    Client(
        "5ire", "5ire",
        _user("opaque", "$XDG_CONFIG_HOME/5ire", keys=(), fixed="its servers live in its own store"),
    ),
)

# Servers that no table row can reach, for docs/clients.md: (what, why).
OUT_OF_REACH = (
    ("Claude Code agents (`~/.claude/agents/*.md`, `.claude/agents/*.md`)", "servers defined in Markdown front matter"),
    ("Claude Desktop bundles (`.mcpb`, `.dxt`)", "unpacked application data that updates overwrite"),
    ("Cursor and VS Code extensions, Cursor plugins", "files that updates overwrite"),
    ("Zed extension servers", "the extension chooses the command"),
    ("Emacs mcp.el", "a Lisp variable in the init file"),
    ("supergateway, mcp-proxy, mcpo", "the command line or a file named on it"),
    ("Docker MCP Toolkit, ToolHive, MetaMCP", "servers run in containers or from a database"),
    ("headersHelper of remote servers (Claude Code)", "a shell command that belongs to no stdio server"),
)

# Programs that start the command given in their own arguments.
OUTER_WRAPPERS = ("pipelock", "mcpsnoop", "mcp-scan", "mcp-gateway", "envmcp", "hol-guard", "smcp", "mcp-jail")

BY_NAME = {client.name: client for client in CLIENTS}
