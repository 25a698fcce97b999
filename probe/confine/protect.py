"""What no write grant may reach: the ways by which a server could lift its own confinement or outlive it.

A grant is refused when it covers one of these places or lies inside one, after links on both sides are resolved.
Loaded only when a policy grants writing outside the server's private folder.
"""
import posix
import sys

from . import system
from .policy import Refused

# Below the home: (path, why). A new client's own file goes here too.
HOME = (
    *[(path, "keys and agents") for path in
      (".ssh", ".gnupg", ".pki", ".aws", ".azure", ".kube", ".docker", ".config/gcloud", ".netrc", ".password-store")],
    *[(path, "a start-up file of shells and sessions") for path in
      (".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv",
       ".zprofile", ".zlogin", ".zlogout", ".config/fish", ".config/nushell", ".cshrc", ".tcshrc", ".login", ".kshrc",
       ".inputrc", ".xprofile", ".xsession", ".xsessionrc", ".xinitrc", ".pam_environment", ".config/environment.d",
       ".config/plasma-workspace", ".config/sway", ".config/i3", ".config/hypr")],
    *[(path, "started by the session or by systemd") for path in
      (".config/autostart", ".config/systemd", ".local/share/systemd", ".local/share/dbus-1",
       ".local/share/applications", ".local/share/kservices5", ".config/upstart")],
    *[(path, "programs on the search path or settings that run programs") for path in
      (".local/bin", "bin", ".cargo/bin", ".gitconfig", ".config/git", ".npmrc", ".config/pip", ".config/uv",
       ".vimrc", ".config/nvim", ".emacs", ".emacs.d", ".tmux.conf", ".direnvrc")],
    *[(path, "the configuration of an MCP client") for path in
      (".claude.json", ".claude", ".cursor", ".config/Claude", ".config/Code/User", ".config/Code - Insiders/User",
       ".config/VSCodium/User", ".vscode", ".vscode-server", ".codeium", ".codex", ".gemini", ".qwen", ".config/zed",
       ".config/goose", ".continue", ".cline", ".config/opencode", ".opencode", ".config/kilo", ".config/crush",
       ".local/share/crush", ".copilot", ".config/github-copilot", ".ai", ".junie", ".aws/amazonq", ".kiro",
       ".lmstudio", ".warp", ".config/amp", ".factory", ".augment", ".config/Trae", ".rovodev", ".mcpproxy",
       ".config/mcphub", ".mcporter", ".kimi", ".kimi-code", ".vibe", ".grok", ".config/devin")],
    *[(path, "confinement's own files") for path in
      (".config/mcp-confine", ".local/state/mcp-confine", ".local/lib/mcp-confine")],
)
SYSTEM = (
    *[(path, "the system") for path in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/etc")],
    *[(path, "schedules and mail that run programs") for path in ("/var/spool/cron", "/var/spool/at")],
    *[(path, "the kernel's interface") for path in ("/proc", "/sys")],
)


def refuse_dangerous(grants: list, home: str) -> None:
    """Raises `Refused` for the first write grant, as (path, origin), that covers or enters a protected place."""
    places = [(f"{home}/{path}", why) for path, why in HOME] + list(SYSTEM)
    own = sys.modules[__package__].__path__[0]
    places += [(own, "the wrapper"), (sys.executable or "/usr", "the wrapper's Python")]
    homes = [(home, "the home itself"), ("/home", "people's homes"), ("/root", "root's home")]
    resolved = [(system.real(path), path, why) for path, why in homes + places]
    for path, origin in grants:
        target = system.real(path)
        for place, spelled, why in resolved:
            # A folder inside a home is fine, the home as a whole is not.
            inside = spelled not in (home, "/home", "/root") and system.covers(place, target)
            if system.covers(target, place) or inside:
                raise Refused(
                    f"{path}: writing there ({origin}) would let the server change {spelled} ({why}); "
                    "grant a narrower folder, or --ro")
        if target.startswith("/dev/") and not target.startswith(("/dev/shm", "/dev/pts", "/dev/ptmx", "/dev/dri")):
            _refuse_device(path, target, origin)


def _refuse_device(path: str, target: str, origin: str) -> None:
    try:
        kind = posix.stat(target).st_mode & 0o170000
    except OSError:
        return
    if kind == 0o060000 or target in ("/dev/mem", "/dev/kmem", "/dev/port"):
        raise Refused(f"{path}: writing to this device ({origin}) reaches past every file rule")
