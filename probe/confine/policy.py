"""Options and policy files: one language, read from the command line, from files and from the presets.

A policy file is options, one a line, `#` comments. List options add up; of the others the last word counts, in the
order preset, policy file, command line.
"""
import posix

from . import system

# option: (what its value is, one line of help)
OPTIONS = {
    "--name": ("SERVER", "picks the private state folder and the policy"),
    "--policy": ("NAME|FILE", "use this policy instead of the one of the server's name"),
    "--ro": ("PATH", "grant reading and executing below PATH"),
    "--rw": ("PATH", "grant reading, executing and writing below PATH"),
    "--args": ("ro|rw", "also grant the existing paths that the command's own arguments name"),
    "--unix": ("PATH", "grant connecting to the UNIX socket PATH, or to those below it"),
    "--net": ("any|none", "the network: any (the default) or none"),
    "--connect": ("PORT[/udp]", "allow connecting to this port, DNS, and no other"),
    "--bind": ("PORT[/udp]", "allow listening on this port and no other"),
    "--env": ("NAME", "pass this variable on"),
    "--setenv": ("NAME=VALUE", "set this variable"),
    "--home": ("private|real", "what HOME says; the real one is not granted by saying so"),
    "--limit": ("NAME=VALUE", "a resource limit, as in --limit nofile=4096"),
    "--userns": ("allow|deny", "new user namespaces, which browsers sandbox themselves with (default deny)"),
    "--user": ("NAME", "started as root: become this user"),
    "--require": ("PROTECTION,...", "refuse to start unless these are enforced"),
    "--allow-degraded": ("PROTECTION,...", "start although these cannot be enforced"),
    "--max-abi": ("N", "use no Landlock interface newer than N"),
}
NOT_IN_FILES = ("--name", "--policy", "--user")
ACTIONS = ("--show", "--self-test", "--json", "--version", "--help")
CHOICES = {
    "--args": ("ro", "rw"),
    "--net": ("any", "none"),
    "--home": ("private", "real"),
    "--userns": ("allow", "deny"),
}

# RLIMIT_* of the architectures that seccomp.supported() knows
LIMITS = {
    "cpu": 0, "fsize": 1, "data": 2, "stack": 3, "core": 4, "rss": 5, "nproc": 6, "nofile": 7, "memlock": 8,
    "as": 9, "locks": 10, "sigpending": 11, "msgqueue": 12, "nice": 13, "rtprio": 14, "rttime": 15,
}
INFINITY = (1 << 64) - 1
DNS_PORT = 53


class Refused(Exception):
    """The wrapper will not start the command; the text says why and what to do, in one line."""


class Policy:
    """What a server may do, gathered from the preset, the policy file and the command line.

    Paths come as (path, origin) pairs; an origin is "command line", "FILE:LINE" or "preset NAME". `network` is "any",
    "none" or "ports"; ports are (number, "tcp" or "udp").
    """

    def __init__(self) -> None:
        self.name = ""
        self.file = ""  # what --policy said
        self.source = "built-in default"
        self.read: list = []
        self.write: list = []
        self.unix: list = []
        self.arguments: tuple = ()  # ("ro" or "rw", origin)
        self.network = "any"
        self.network_asked = False  # by a person, so that it is an error if it cannot be had
        self.connect: list = []
        self.bind: list = []
        self.env: list = []
        self.setenv: dict = {}
        self.home = "private"
        self.limits: dict = {"core": 0}
        self.userns = False
        self.user = ""
        self.require: list = []
        self.allow_degraded: list = []
        self.max_abi = 0

    def take(self, option: str, value: str, origin: str, home: str) -> None:
        """Adds one option. Raises `Refused` for one that does not exist or a value it does not take."""
        if option not in OPTIONS:
            raise Refused(f"{origin}: unknown option {option!r}; mcp-confine --help lists them")
        if not value or "\0" in value or "\n" in value:
            raise Refused(f"{origin}: {option} needs a value: {OPTIONS[option][0]}")
        if option in CHOICES and value not in CHOICES[option]:
            raise Refused(f"{origin}: {option} takes {' or '.join(CHOICES[option])}, not {value!r}")
        if option in ("--ro", "--rw", "--unix"):
            target = {"--ro": self.read, "--rw": self.write, "--unix": self.unix}[option]
            target.append((_absolute(value, home, origin), origin))
        elif option == "--args":
            self.arguments = (value, origin)
        elif option == "--net":
            self.network, self.connect, self.bind = value, [], []
            self.network_asked = not origin.startswith("preset ")
        elif option in ("--connect", "--bind"):
            (self.connect if option == "--connect" else self.bind).append(_port(value, option, origin))
            self.network = "ports"
            self.network_asked = not origin.startswith("preset ")
        elif option == "--env":
            self.env.append(_variable(value, option, origin))
        elif option == "--setenv":
            variable, equals, content = value.partition("=")
            if not equals:
                raise Refused(f"{origin}: --setenv needs NAME=VALUE")
            self.setenv[_variable(variable, option, origin)] = _tilde(content, home)
        elif option == "--home":
            self.home = value
        elif option == "--limit":
            resource, _, amount = value.partition("=")
            self.limits[resource] = _limit(resource, amount, origin)
        elif option == "--userns":
            self.userns = value == "allow"
        elif option in ("--require", "--allow-degraded"):
            (self.require if option == "--require" else self.allow_degraded).extend(value.split(","))
        elif option == "--max-abi":
            if not value.isdigit() or int(value) < 1:
                raise Refused(f"{origin}: --max-abi takes a number from 1")
            self.max_abi = int(value)
        else:
            setattr(self, {"--name": "name", "--policy": "file", "--user": "user"}[option], value)


def parse_arguments(words: list) -> tuple:
    """The wrapper's own arguments as (options, actions, command).

    Options are (option, value) pairs in order; actions those of `ACTIONS`; the command is all that follows the bare
    `--`, and None when there is no `--`. Raises `Refused`.
    """
    options, actions, command = [], [], None
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            command = words[index:]
            break
        option, equals, value = word.partition("=")
        if option in ACTIONS and not equals:
            actions.append(option)
        elif option in OPTIONS:
            if not equals:
                if index >= len(words) or words[index] == "--":
                    raise Refused(f"{option} needs a value: {OPTIONS[option][0]}")
                value = words[index]
                index += 1
            options.append((option, value))
        else:
            raise Refused(f"unknown option {option!r}; the command goes after a bare --; mcp-confine --help lists all")
    return options, actions, command


def parse_file(content: str, path: str) -> list:
    """The options of a policy file as (option, value, origin). Raises `Refused` naming the line."""
    found = []
    for number, line in enumerate(content.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        origin = f"{path}:{number}"
        option, value = (line.split(None, 1) + [""])[:2]
        if "=" in option and not value:
            option, _, value = option.partition("=")
        if option not in OPTIONS or option in NOT_IN_FILES:
            raise Refused(f"{origin}: {option!r} is not an option that a policy file can hold")
        found.append((option, value, origin))
    return found


def check_text(content: str, path: str, home: str = "/") -> None:
    """Reads a policy text for its errors alone; for whoever is about to write one. Raises `Refused`."""
    policy = Policy()
    for option, value, origin in parse_file(content, path):
        policy.take(option, value, origin, home)


def find_file(policy: Policy, home: str) -> str:
    """The policy file that applies, "" when the presets do. Raises `Refused` for one named that does not exist."""
    if "/" in policy.file:
        return _absolute(policy.file, home, "--policy")
    wanted = policy.file or policy.name
    if not wanted:
        return ""
    folders = ("/etc/mcp-confine/policies", f"{home}/.config/mcp-confine/policies")
    for folder in folders:
        path = f"{folder}/{folder_name(wanted)}"
        try:
            posix.stat(path)
            return path
        except FileNotFoundError:
            continue
        except OSError as problem:
            raise Refused(f"{path}: cannot be read: {problem.strerror}; a policy that may exist is never passed over"
                          ) from None
    if policy.file:
        raise Refused(f"no policy {wanted!r} in {' or '.join(folders)}; create it there or name a file with its path")
    return ""


def read_file(path: str) -> str:
    """A policy file's text. Raises `Refused` when it cannot be read or when others than its owner may change it."""
    try:
        descriptor = posix.open(path, posix.O_RDONLY | posix.O_CLOEXEC | posix.O_NONBLOCK)
    except OSError as problem:
        raise Refused(f"{path}: cannot read the policy: {problem.strerror}") from None
    try:
        place = system.resolved(descriptor, path)
        refuse_writable(place, posix.fstat(descriptor))
        while place != "/":
            # Whoever may write a folder above may put another one in the place of what is in it.
            place = place.rpartition("/")[0] or "/"
            refuse_writable(place)
        content = b""
        while len(content) <= 1 << 20:
            part = posix.read(descriptor, 1 << 16)
            if not part:
                return content.decode()
            content += part
        raise Refused(f"{path}: a policy of more than a megabyte is not one")
    except UnicodeDecodeError:
        raise Refused(f"{path}: the policy is not UTF-8 text") from None
    except OSError as problem:
        raise Refused(f"{path}: cannot read the policy: {problem.strerror}") from None
    finally:
        posix.close(descriptor)


def refuse_writable(path: str, status: "posix.stat_result | None" = None) -> None:
    """Raises `Refused` when somebody other than root and the user could change what lies at `path`."""
    status = status or posix.stat(path)
    mode, me = status.st_mode, posix.geteuid()
    if status.st_uid not in (0, me):
        raise Refused(f"{path}: owned by uid {status.st_uid}, who could change it; chown it to root or to yourself")
    sticky = mode & 0o1000 and mode & 0o40000
    if not sticky and (mode & 0o002 or (mode & 0o020 and not own_group(status.st_gid, me))):
        raise Refused(f"{path}: writable by others (mode {mode & 0o7777:o}); chmod go-w it")


def own_group(gid: int, uid: int) -> bool:
    """Whether a group is root's or a group of one's own, as distributions make them, with a umask of 002 to match."""
    if gid == 0 or gid == uid == posix.getegid():
        return True
    if gid != posix.getegid():
        return False
    import grp
    import pwd

    try:
        name, group = pwd.getpwuid(uid).pw_name, grp.getgrgid(gid)
    except KeyError:
        return False
    return group.gr_name == name and all([member == name for member in group.gr_mem])


def folder_name(name: str) -> str:
    """A server's name as one path component; what had to be changed leaves a checksum, so that two names stay two."""
    plain = "".join([c if c.isascii() and (c.isalnum() or c in "._@+-") else "_" for c in name[:64]])
    if plain[:1] in (".", "-", ""):
        plain = "_" + plain
    if plain == name:
        return plain
    checksum = 0x811C9DC5  # FNV-1a
    for byte in name.encode("utf-8", "surrogatepass"):
        checksum = (checksum ^ byte) * 0x01000193 & 0xFFFFFFFF
    return f"{plain}-{checksum:08x}"


def _tilde(value: str, home: str) -> str:
    return home + value[1:] if value == "~" or value.startswith("~/") else value


def _absolute(value: str, home: str, origin: str) -> str:
    value = _tilde(value, home)
    if value.startswith("/"):
        return value
    if origin not in ("command line", "--policy"):
        raise Refused(f"{origin}: {value!r} must be absolute or begin with ~/")
    return f"{posix.getcwd()}/{value}"


def _port(value: str, option: str, origin: str) -> tuple:
    number, _, protocol = value.partition("/")
    protocol = protocol or "tcp"
    if not number.isdigit() or not 0 <= int(number) <= 65535 or protocol not in ("tcp", "udp"):
        raise Refused(f"{origin}: {option} takes PORT or PORT/udp with a port up to 65535, not {value!r}")
    return int(number), protocol


def _variable(value: str, option: str, origin: str) -> str:
    if not value or "=" in value:
        raise Refused(f"{origin}: {option} takes the name of a variable")
    return value


def _limit(resource: str, amount: str, origin: str) -> int:
    if resource not in LIMITS:
        raise Refused(f"{origin}: --limit knows {', '.join(LIMITS)}, not {resource!r}")
    if amount in ("unlimited", "infinity"):
        return INFINITY
    unit = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}.get(amount[-1:].lower(), 1)
    digits = amount if unit == 1 else amount[:-1]
    if not digits.isdigit():
        raise Refused(f"{origin}: --limit {resource} takes a number, with k, m or g behind it, or unlimited")
    return int(digits) * unit


def help_text() -> str:
    """What `--help` prints."""
    lines = [
        "usage: mcp-confine [OPTION...] -- COMMAND [ARG...]",
        "       mcp-confine [OPTION...] --show [--json] -- COMMAND [ARG...]",
        "       mcp-confine [OPTION...] --self-test [--json] [-- COMMAND [ARG...]]",
        "",
        "Starts COMMAND under Landlock and seccomp: it reads the system and its runtime, writes its own private",
        "folder, and gets nothing else unless an option or a policy grants it. It becomes COMMAND by exec and says",
        "nothing unless it refuses.",
        "",
    ]
    width = max([len(option) + len(value) for option, (value, _) in OPTIONS.items()]) + 3
    lines += [f"  {(option + ' ' + value).ljust(width)}{text}" for option, (value, text) in OPTIONS.items()]
    lines += [
        f"  {'--show'.ljust(width)}print each grant and how each protection is enforced; start nothing",
        f"  {'--self-test'.ljust(width)}prove in a child that the plan for COMMAND allows and denies",
        f"  {'--json'.ljust(width)}with --show and --self-test: for programs",
        f"  {'--version'.ljust(width)}print the version",
        "",
        "Policy files hold these options, one a line: /etc/mcp-confine/policies/SERVER, then",
        "~/.config/mcp-confine/policies/SERVER, then what is built in for the command.",
        "Exit: 125 refused, 126 not executable, 127 not found, else the command's own.",
    ]
    return "\n".join(lines)

