"""What known launchers and servers need, recognised from the command as it is at run time.

A preset is options in the language of the policy files, so what is built in can be read, and a policy file of the
server's name takes its place. A new server is one row of `SERVERS`, a new launcher one row of `LAUNCHERS`.
"""
# Folders of the private state that programs must be told of when HOME is the real one; {data} is the server's.
NPM = {
    "npm_config_cache": "{data}/.npm",
    "npm_config_userconfig": "{config}/npmrc",
    "npm_config_update_notifier": "false",
}
UV = {
    "UV_CACHE_DIR": "{data}/.cache/uv",
    "UV_TOOL_DIR": "{data}/.local/share/uv/tools",
    "UV_PYTHON_INSTALL_DIR": "{data}/.local/share/uv/python",
    "UV_PROJECT_ENVIRONMENT": "{data}/venv",
}
NPM_NAMES = ("npm_config_registry", "NPM_CONFIG_REGISTRY", "npm_config_offline", "npm_config_prefer_offline")
UV_NAMES = ("UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_OFFLINE",
            "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_PYTHON", "UV_PYTHON_PREFERENCE", "UV_PYTHON_DOWNLOADS")
PIP_NAMES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_CONFIG_FILE")

# The user's own settings files of the launchers, relative to the home: (file, name in {config}, variable, kept lines).
# "settings" keeps the lines whose key is listed, so a registry stays reachable and its tokens stay behind; "whole"
# takes the file if no address in it carries a password, and leaves it behind otherwise.
CARRIED = {
    "npm": (".npmrc", "npmrc", "npm_config_userconfig",
            ("registry", "proxy", "https-proxy", "noproxy", "cafile", "strict-ssl", "prefer-offline", "offline")),
    "uv": (".config/uv/uv.toml", "uv.toml", "UV_CONFIG_FILE", ()),
    "pip": (".config/pip/pip.conf", "pip.conf", "PIP_CONFIG_FILE", ()),
}

# launcher: (kind, fetches packages, environment, variables passed on, carried settings, other programs it starts)
LAUNCHERS = {
    "npx": ("npm", True, NPM, NPM_NAMES, ("npm",), ("node",)),
    "npm": ("npm", True, NPM, NPM_NAMES, ("npm",), ("node",)),
    "pnpx": ("npm", True, NPM, NPM_NAMES, ("npm",), ("node",)),
    "pnpm": ("npm", True, NPM, NPM_NAMES, ("npm",), ("node",)),
    "yarn": ("npm", True, NPM, NPM_NAMES, ("npm",), ("node",)),
    "bunx": ("npm", True, {"BUN_INSTALL_CACHE_DIR": "{data}/.bun/cache"}, NPM_NAMES, ("npm",), ("bun",)),
    "bun": ("script", True, {"BUN_INSTALL_CACHE_DIR": "{data}/.bun/cache"}, NPM_NAMES, ("npm",), ()),
    "deno": ("script", True, {"DENO_DIR": "{data}/.cache/deno"}, NPM_NAMES, (), ()),
    "uvx": ("uv", True, UV, UV_NAMES, ("uv",), ("python3", "python")),
    "uv": ("uv", True, UV, UV_NAMES, ("uv",), ("python3", "python")),
    "pipx": ("uv", True, {"PIPX_HOME": "{data}/.local/pipx"}, PIP_NAMES, ("pip",), ("python3",)),
    "node": ("script", False, {}, (), (), ()),
    "python": ("script", False, {}, (), (), ()),
    "tsx": ("script", False, {}, (), (), ("node",)),
    "ts-node": ("script", False, {}, (), (), ("node",)),
    "ruby": ("script", False, {}, (), (), ()),
    "perl": ("script", False, {}, (), (), ()),
    "sh": ("script", False, {}, (), (), ()),
    "bash": ("script", False, {}, (), (), ()),
}
# Options of launchers that take a value in the next word; needed to find the package or the script behind them.
VALUED = {
    "npm": ("-p", "--package", "-c", "--call", "--node-options", "--registry", "--cache", "--prefix", "-w",
            "--workspace"),
    "uv": ("--from", "--with", "--with-editable", "--with-requirements", "--python", "-p", "--index", "--index-url",
           "--default-index", "--extra-index-url", "--find-links", "-f", "--directory", "--project", "--env-file",
           "--constraint", "-c", "--group", "--extra", "--spec", "--pip-args"),
    "script": ("-r", "--require", "--import", "--loader", "--experimental-loader", "-W", "-X", "--inspect-port", "-I",
               "--conditions", "-C", "--env-file", "--allow-env", "--config"),
}
# Options of interpreters after which no script follows.
INSTEAD_OF_SCRIPT = ("-m", "-c", "-e", "--eval", "-lc")

_GIT = ("--args rw", "--home real", "--ro ~/.gitconfig", "--ro ~/.config/git",
        "--setenv GIT_CONFIG_GLOBAL=~/.gitconfig")
_FILES = ("--args rw", "--home real", "--net none")
# What a published server needs beyond its launcher. `--net none` holds only when the launcher fetches nothing itself.
SERVERS = {
    "@modelcontextprotocol/server-filesystem": _FILES,
    "@modelcontextprotocol/server-memory": ("--net none",),
    "@modelcontextprotocol/server-sequential-thinking": ("--net none",),
    "@modelcontextprotocol/server-everything": ("--net none",),
    "mcp-server-time": ("--net none",),
    "mcp-server-git": (*_GIT, "--net none"),
    "mcp-server-sqlite": ("--args rw", "--net none"),
    "mcp-server-fetch": ("--connect 443", "--connect 80"),
    "@upstash/context7-mcp": ("--connect 443",),
    "@modelcontextprotocol/server-github": ("--connect 443",),
    "@modelcontextprotocol/server-brave-search": ("--connect 443",),
    "@brave/brave-search-mcp-server": ("--connect 443",),
    "@modelcontextprotocol/server-google-maps": ("--connect 443",),
    "@modelcontextprotocol/server-slack": ("--connect 443",),
    "@notionhq/notion-mcp-server": ("--connect 443",),
    "@supabase/mcp-server-supabase": ("--connect 443",),
    "@sentry/mcp-server": ("--connect 443",),
    "@stripe/mcp": ("--connect 443",),
    "tavily-mcp": ("--connect 443",),
    "exa-mcp-server": ("--connect 443",),
    "firecrawl-mcp": ("--connect 443",),
    "mcp-atlassian": ("--connect 443",),
    "figma-developer-mcp": ("--connect 443",),
    "@eslint/mcp": ("--args ro", "--net none"),
    # Chromium brings a sandbox of its own, made of user namespaces and shared memory.
    "@playwright/mcp": ("--userns allow", "--rw /dev/shm", "--ro ~/.cache/ms-playwright", "--ro /proc", "--ro /sys",
                        "--setenv PLAYWRIGHT_BROWSERS_PATH=~/.cache/ms-playwright"),
    "@modelcontextprotocol/server-puppeteer": (
        "--userns allow", "--rw /dev/shm", "--ro ~/.cache/puppeteer", "--ro /proc", "--ro /sys",
        "--setenv PUPPETEER_CACHE_DIR=~/.cache/puppeteer"),
    "chrome-devtools-mcp": ("--userns allow", "--rw /dev/shm", "--ro /proc", "--ro /sys", "--ro /opt/google"),
}


class Recognised:
    """What the command is: its preset's name, options, environment and what must be readable to start it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.options: list = []
        self.environment: dict = {}
        self.variables: tuple = ()
        self.carried: tuple = ()
        self.programs: tuple = ()
        self.scripts: list = []  # files and folders of the program itself, as the command spells them
        self.package = ""


def recognise(command: list) -> Recognised:
    """The preset for a command, by its words alone; an unknown command gets an empty one called "none"."""
    base = _base(command[0])
    row = LAUNCHERS.get(base)
    fetching = False
    if not row:
        found = Recognised("none")
        found.package = base
    else:
        kind, fetches, found = row[0], row[1], Recognised(base)
        found.environment, found.variables, found.carried, found.programs = row[2:]
        _look_inside(found, kind, command[1:])
        fetching = fetches and kind != "script"
    rules = SERVERS.get(found.package) or SERVERS.get(found.package.replace("_", "-"))
    if rules:
        found.name = f"{found.name}: {found.package}" if row else found.package
        for rule in rules:
            option, _, value = rule.partition(" ")
            if fetching and option in ("--net", "--connect"):
                continue  # the launcher reaches for the registry, wherever that is, before the server runs
            found.options.append((option, value))
    return found


def _base(word: str) -> str:
    base = word.rpartition("/")[2]
    if base not in LAUNCHERS and base.startswith("python") and base[6:].replace(".", "").isdigit():
        return "python"  # python3, python3.12
    return base


def _look_inside(found: Recognised, kind: str, arguments: list) -> None:
    words, options = _split(arguments, VALUED[kind])
    if kind == "npm":
        if found.name in ("npm", "pnpm", "yarn") and words[:1] and words[0] in ("exec", "x", "dlx"):
            words = words[1:]
        named = options.get("--package") or options.get("-p") or (words[0] if words else "")
        at = named.find("@", 1)
        found.package = named if at < 0 else named[:at]
    elif kind == "uv":
        folder = options.get("--directory") or options.get("--project")
        if found.name == "uv":
            if words[:2] == ["tool", "run"]:
                words = words[2:]
            elif words[:1] == ["run"]:
                words = words[1:]
                found.scripts += [folder] if folder else []
                if words and words[0].endswith(".py"):
                    found.scripts.append(words[0])
        elif found.name == "pipx" and words[:1] == ["run"]:
            words = words[1:]
        named = options.get("--from") or options.get("--spec") or (words[0] if words else "")
        for mark in ("[", "=", "<", ">", "~", "!", "@", " "):
            named = named.partition(mark)[0] if not named.startswith(mark) else named
        found.package = named
    elif "-m" in options:
        found.package = options["-m"]
    elif words and not any([name in options for name in INSTEAD_OF_SCRIPT]):
        script = words[1] if found.name in ("bun", "deno") and words[0] == "run" and len(words) > 1 else words[0]
        found.scripts.append(script)
        parts = script.split("/")
        if "node_modules" in parts:
            at = len(parts) - 1 - parts[::-1].index("node_modules")
            scoped = len(parts) > at + 1 and parts[at + 1].startswith("@")
            found.package = "/".join(parts[at + 1: at + (3 if scoped else 2)])
        else:
            found.package = parts[-1].rpartition(".py")[0] or parts[-1]


def _split(arguments: list, valued: tuple) -> tuple:
    """The plain words of a launcher's arguments up to the first that is the program's own, and its options."""
    words: list = []
    options: dict = {}
    index = 0
    while index < len(arguments):
        word = arguments[index]
        index += 1
        if word == "--" and not words:
            continue
        own = not words or words[0] in ("run", "tool", "exec", "x", "dlx")  # still the launcher's own words
        if not word.startswith("-") or not own:
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        if not equals and (name in valued or name in INSTEAD_OF_SCRIPT):
            value = arguments[index] if index < len(arguments) else ""
            index += 1
        options.setdefault(name, value)
        if name in INSTEAD_OF_SCRIPT:
            break
    return words, options
