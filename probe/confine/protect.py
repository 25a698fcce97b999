"""What no write grant may reach: the ways by which a server could lift its own confinement or outlive it.

A grant is refused when it covers one of these places or lies inside one, after links on both sides are resolved.
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
# Below /run/user/UID, where a session of systemd keeps what it runs from.
SESSION = (
    ("systemd", "units of the running session"),
    ("dbus-1", "services that the session's bus starts"),
)
SYSTEM = (
    *[(path, "the system") for path in ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/boot", "/etc")],
    *[(path, "units and rules of the running system") for path in ("/run/systemd", "/run/udev")],
    *[(path, "schedules and mail that run programs") for path in ("/var/spool/cron", "/var/spool/at")],
    *[(path, "scripts that packages run") for path in ("/var/lib/dpkg", "/var/lib/rpm", "/var/lib/systemd")],
    *[(path, "the kernel's interface") for path in ("/proc", "/sys")],
)


def refuse_dangerous(grants: list, homes: list) -> None:
    """Raises `Refused` for the first write grant, as (path, target, origin), that covers or enters a protected place.

    Targets are where the grants lead, links resolved; `homes` are the user's.
    """
    own = sys.modules[__package__].__path__[0]
    # Of these a part may be granted, but not the whole.
    tops = [*[(home, "the home itself") for home in homes], ("/home", "people's homes"), ("/root", "root's home")]
    places = [(f"/run/user/{posix.geteuid()}/{path}", why) for path, why in SESSION]
    places += [*SYSTEM, (own, "the wrapper"), (sys.executable or "/usr", "the wrapper's Python")]
    resolved = [(system.walk(path)[1], path, why, whole) for rows, whole in ((tops, True), (places, False))
                for path, why in rows]
    for home in homes:
        below = _Home(home)
        resolved += [(below.end(path), f"{home}/{path}", why, False) for path, why in HOME]
    for path, target, origin in grants:
        for place, spelled, why, whole in resolved:
            if system.covers(target, place) or (not whole and system.covers(place, target)):
                raise Refused(
                    f"{path}: writing there ({origin}) would let the server change {spelled} ({why}); "
                    "grant a narrower folder, or --ro")
        if target.startswith("/dev/") and not target.startswith(("/dev/shm", "/dev/pts", "/dev/ptmx", "/dev/dri")):
            _refuse_device(path, target, origin)


class _Home:
    """Where the places of one home lead. Each folder is listed once, for most of the places are in no home."""

    def __init__(self, home: str) -> None:
        self.folders: dict = {"": system.walk(home)[1]}
        self.names: dict = {}

    def end(self, path: str) -> str:
        """Where `path`, below the home, leads; also where nothing is yet."""
        if path in self.folders:
            return self.folders[path]
        above, _, last = path.rpartition("/")
        folder = self.end(above)
        if folder not in self.names:
            try:
                self.names[folder] = set(posix.listdir(folder))
            except FileNotFoundError:
                self.names[folder] = set()
            except OSError:
                self.names[folder] = None  # closed or no folder: each place is looked up
        names = self.names[folder]
        end = f"{folder}/{last}"
        if names is None or last in names:
            end = system.walk(end)[1]
        self.folders[path] = end
        return end


def _refuse_device(path: str, target: str, origin: str) -> None:
    try:
        kind = posix.stat(target).st_mode & 0o170000
    except OSError:
        return
    if kind == 0o060000 or target in ("/dev/mem", "/dev/kmem", "/dev/port"):
        raise Refused(f"{path}: writing to this device ({origin}) reaches past every file rule")
