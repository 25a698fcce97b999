"""The server's environment and its private folders.

A server gets the variables that any program needs, those its entry or policy names, and those that the client added
for it. What the user's session holds besides, tokens and agent sockets, stays behind.
"""
import posix

from . import system
from .policy import Policy, Refused, folder_name
from .presets import CARRIED, Recognised

ALLOWED = frozenset((
    "HOME", "PATH", "LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "USER", "LOGNAME",
    "SHELL", "PWD", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy",
    "no_proxy", "SYSTEMROOT",
))
# Each may point at a file or a folder of certificates, which is then granted for reading.
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
                "GIT_SSL_CAINFO", "PIP_CERT", "AWS_CA_BUNDLE", "npm_config_cafile", "NIX_SSL_CERT_FILE")
# Passed only when named, even if the client added them: they steer the loader or lead to the session's agents.
NAMED_ONLY_PREFIXES = ("LD_", "DBUS_", "XDG_", "GPG_", "SSH_", "MALLOC_", "GLIBC_")
NAMED_ONLY_SUFFIXES = ("_SOCK", "_SOCKET", "_AGENT_INFO")
NAMED_ONLY = frozenset((
    "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DOCKER_HOST", "CONTAINER_HOST", "KUBECONFIG", "NODE_OPTIONS",
    "PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "BASH_ENV", "ENV", "PERL5OPT", "RUBYOPT", "TMPDIR", "TMP", "TEMP",
    "GCONV_PATH", "NIS_PATH", "LOCALDOMAIN", "RES_OPTIONS", "HOSTALIASES", "GIO_MODULE_DIR", "GTK_MODULES",
))


def home_of(uid: int, environment: dict) -> str:
    """The user's home: HOME where it is an absolute folder of that user's, else what the user database says."""
    home = system.text(environment.get(b"HOME", b""))
    try:
        if home.startswith("/") and posix.stat(home).st_uid == uid:
            return home.rstrip("/") or "/"
    except OSError:
        pass
    import pwd

    try:
        return pwd.getpwuid(uid).pw_dir
    except KeyError:
        raise Refused(f"uid {uid} has no home: HOME names no folder of its own and the user database knows none"
                      ) from None


def homes_of(uid: int, home: str) -> list:
    """`home` and, where it is another, what the user database says: clients from snaps move HOME, keys stay behind."""
    import pwd

    try:
        told = pwd.getpwuid(uid).pw_dir.rstrip("/")
    except KeyError:
        told = ""
    return [home, told] if told.startswith("/") and told != home else [home]


def added_by_client(environment: dict, parent: int) -> set:
    """The names whose values differ from the parent's own start environment, or are not in it.

    What a client adds for one server is not in the environment that it was itself started with. A parent whose
    environment cannot be read has added nothing that counts.
    """
    try:
        descriptor = posix.open(f"/proc/{parent}/environ", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError:
        return set()
    content = b""
    try:
        while True:
            part = posix.read(descriptor, 1 << 17)
            if not part:
                break
            content += part
    except OSError:
        return set()
    finally:
        posix.close(descriptor)
    theirs = set(content.split(b"\0"))
    return {name for name, value in environment.items() if name + b"=" + value not in theirs}


def build(policy: Policy, preset: Recognised, runtime: dict, folders: "Folders", environment: dict, added: set) -> dict:
    """The server's environment as bytes to bytes. `environment` is the wrapper's own, `added` as `added_by_client`."""
    passed = {}
    named = {system.raw(name) for name in (*policy.env, *preset.variables)}
    for name, value in environment.items():
        spelled = system.text(name)
        if (name in named or spelled in ALLOWED or spelled in CERTIFICATES or spelled.startswith("LC_")
                or (name in added and not _named_only(spelled))):
            passed[name] = value
    settings = {"TMPDIR": "{data}/tmp", **preset.environment, **runtime}
    if policy.home == "private":
        settings["HOME"] = "{data}"
    else:
        settings["HOME"] = folders.home
        for variable, folder in (("XDG_CACHE_HOME", ".cache"), ("XDG_DATA_HOME", ".local/share"),
                                 ("XDG_STATE_HOME", ".local/state")):
            settings[variable] = "{data}/" + folder
    for variable, value in {**settings, **folders.variables, **policy.setenv}.items():
        passed[system.raw(variable)] = system.raw(
            value.replace("{data}", folders.data).replace("{config}", folders.config))
    return passed


def _named_only(name: str) -> bool:
    return (name in NAMED_ONLY or name.startswith(NAMED_ONLY_PREFIXES) or name.endswith(NAMED_ONLY_SUFFIXES))


def state_root(home: str) -> str:
    """Where everything is kept that this user's servers and edits need to remember."""
    return f"{home}/.local/state/mcp-confine"


class Folders:
    """A server's private state: `data`, which it may write, and beside it `config`, which it may only read.

    The folder above both is granted to nobody, so a server cannot put a link in the place of either.
    """

    def __init__(self, home: str, server: str, root: str = "") -> None:
        self.home = home
        self.top = f"{root or state_root(home) + '/servers'}/{folder_name(server)}"
        self.data = f"{self.top}/data"
        self.config = f"{self.top}/config"
        self.variables: dict = {}  # names of settings files that were carried along
        self.left_behind: list = []

    def create(self) -> None:
        """Makes what is missing, for this user alone. Raises `Refused` where something else lies in the way."""
        try:
            if posix.lstat(self.data + "/tmp").st_mode & 0o170000 == 0o040000:
                return
        except OSError:
            pass
        parts = self.top.split("/")
        known = len(self.home.split("/")) if system.covers(self.home, self.top) else len(parts) - 1
        above = ["/".join(parts[:count]) for count in range(known + 1, len(parts) + 1)]
        for path in [*above, *[f"{self.top}/{part}" for part in ("data", "data/tmp", "config")]]:
            try:
                posix.mkdir(path, 0o700)
            except FileExistsError:
                # Below `top` the server itself may have put a link; above it, a link is the user's own affair.
                status = posix.lstat(path) if path.startswith(self.top + "/") else posix.stat(path)
                if status.st_mode & 0o170000 != 0o040000:
                    raise Refused(f"{path}: is in the way of the server's private folder; remove it") from None
            except OSError as problem:
                raise Refused(f"{path}: cannot make the server's private folder: {problem.strerror}") from None

    def carry(self, kinds: tuple) -> None:
        """Copies the launchers' own settings into `config`, as far as they hold no secret."""
        for kind in kinds:
            name, copy, variable, keys = CARRIED[kind]
            content = _read(f"{self.home}/{name}")
            if content and keys:
                lines = [line for line in content.splitlines(True)
                         if _npm_key(line) in keys and not _has_password(line)]
                content = b"".join(lines)
            elif content and _has_password(content):
                self.left_behind.append(name)
                content = b""
            target = f"{self.config}/{copy}"
            if content != _read(target):
                self._write(target, content)
            if content or keys:
                self.variables[variable] = target

    def _write(self, path: str, content: bytes) -> None:
        temporary = f"{path}.{posix.getpid()}"
        try:
            descriptor = posix.open(temporary, posix.O_WRONLY | posix.O_CREAT | posix.O_TRUNC | posix.O_CLOEXEC
                                    | posix.O_NOFOLLOW, 0o600)
            try:
                posix.write(descriptor, content)
            finally:
                posix.close(descriptor)
            posix.rename(temporary, path)
        except OSError as problem:
            raise Refused(f"{path}: cannot write the launcher's settings: {problem.strerror}") from None


def _npm_key(line: bytes) -> str:
    key = system.text(line.partition(b"=")[0].strip())
    return "registry" if key.endswith(":registry") and key.startswith("@") else key


def _has_password(content: bytes) -> bool:
    """Whether an address with a user part stands in it, as in https://user:word@host."""
    return any([b"@" in rest.partition(b"/")[0] for rest in content.split(b"://")[1:]]) or b"password" in content


def _read(path: str) -> bytes:
    try:
        descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return posix.read(descriptor, 1 << 16)
    except OSError:
        return b""
    finally:
        posix.close(descriptor)
