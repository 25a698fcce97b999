"""The wrapper: reads its options, plans, confines itself and becomes the command. See `policy.help_text`."""
import errno
import posix
import sys

from . import environment, landlock, plan, policy, presets, privileges, runtime, system
from .policy import Refused

REFUSED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127

# Folders that are never granted just because the client stands in them.
NO_WORKING_DIRECTORY = ("/etc", "/proc", "/sys", "/dev", "/run", "/boot")
NO_WORKING_DIRECTORY_ITSELF = ("/", "/home", "/root", "/var", "/tmp", "/srv", "/mnt", "/media")


class Launch:
    """Everything decided about one start, before anything is restricted."""

    def __init__(self, options: list, command: list) -> None:
        self.command = command
        self.environment: dict = dict(posix.environ)
        spoken = dict(options)
        if spoken.get("--user"):
            privileges.become(spoken["--user"], self.environment)
        self.home = environment.home_of(posix.geteuid(), self.environment)
        self.preset = presets.recognise(command)
        self.policy = self._policy(options)
        self.added = environment.added_by_client(self.environment, posix.getppid())
        self.folders = environment.Folders(self.home, self.policy.name)
        self.notes: list = []

    def _policy(self, options: list) -> policy.Policy:
        asked = policy.Policy()
        for option, value in options:
            asked.take(option, value, "command line", self.home)
        merged = policy.Policy()
        merged.name, merged.file = asked.name, asked.file
        path = policy.find_file(asked, self.home)
        if path:
            merged.source = path
            for option, value, origin in policy.parse_file(policy.read_file(path), path):
                merged.take(option, value, origin, self.home)
        else:
            merged.source = f"preset {self.preset.name}" if self.preset.options else merged.source
            for option, value in self.preset.options:
                merged.take(option, value, f"preset {self.preset.name}", self.home)
        for option, value in options:
            merged.take(option, value, "command line", self.home)
        merged.name = merged.name or self.preset.package or "unnamed"
        return merged

    def prepare(self) -> None:
        """Makes the private folders, finds the command and opens every grant. Raises `Refused` or `OSError`."""
        self.folders.create()
        self.folders.carry(self.preset.carried)
        search = system.text(self.environment.get(b"PATH", b"/usr/local/bin:/usr/bin:/bin"))
        self.path = runtime.find(self.command[0], search)
        parts = runtime.Runtime(self.home, search)
        parts.follow(self.path if self.path[0] == "/" else f"{posix.getcwd()}/{self.path}", "the command")
        for word in self.preset.programs:
            parts.also(word, f"started by {self.preset.name}")
        for script in self.preset.scripts:
            parts.program(script)
        self._refuse_unsafe_places()
        self.variables = environment.build(
            self.policy, self.preset, parts.variables, self.folders, self.environment, self.added)
        grants = self._grants(parts)
        self.plan = self._negotiate(grants)
        self.plan.refuse_what_cannot_be()

    def _grants(self, parts: runtime.Runtime) -> list:
        rules, wanted = self.policy, []
        wanted.append(plan.Grant(self.folders.data, "write", "the server's private folder", needed=True))
        wanted.append(plan.Grant(self.folders.config, "read", "settings carried along for the launcher"))
        wanted += [plan.Grant(*row) for row in plan.SYSTEM]
        wanted += [plan.Grant(path, "read", reason) for path, reason in parts.grants.items()]
        for name in environment.CERTIFICATES:
            path = system.text(self.variables.get(system.raw(name), b""))
            if path.startswith("/") and not any([system.covers(grant.path, path) for grant in wanted]):
                wanted.append(plan.Grant(path, "read", f"certificates named by {name}"))
        try:
            folder = posix.getcwd()
        except OSError:
            folder = "/"
        if self._may_read(folder):
            wanted.append(plan.Grant(folder, "read", "the working directory"))
        write = list(rules.write)
        read = list(rules.read)
        if rules.arguments:
            access, origin = rules.arguments
            (write if access == "rw" else read).extend(
                [(path, f"argument {index}, {origin}") for index, path in self._argument_paths()])
        if write:
            from . import protect

            protect.refuse_dangerous(write, self.home)
        wanted += [plan.Grant(path, "read", origin) for path, origin in read]
        wanted += [plan.Grant(path, "write", origin, needed=True) for path, origin in write]
        wanted += [plan.Grant(path, "unix", origin) for path, origin in rules.unix]
        opened = []
        for grant in wanted:
            if grant.open():
                opened.append(grant)
            elif (grant.path, grant.reason) in read or grant.kind == "unix":
                self.notes.append(f"{grant.path}: not there, so not granted ({grant.reason})")
        self.notes += [f"~/{name}: holds a password, so the launcher does not get it; give it by --ro and --setenv"
                       for name in self.folders.left_behind]
        return opened

    def _may_read(self, folder: str) -> bool:
        """Whether the working directory is one that may be read: no home, nothing above one, no hidden part of it."""
        home = system.real(self.home)  # as the working directory is told: without links
        below = folder[len(home) + 1:] if folder.startswith(home + "/") else ""
        return not (system.covers(folder, home) or below.startswith(".")
                    or folder in NO_WORKING_DIRECTORY_ITSELF
                    or any([system.covers(top, folder) for top in NO_WORKING_DIRECTORY]))

    def _argument_paths(self) -> list:
        """(position, path) of the arguments that name something that exists, as they are after expansion."""
        found = []
        for index, word in enumerate(self.command[1:], 1):
            if word.startswith("-") and "=" in word:
                word = word.partition("=")[2]
            if word.startswith("~/") or word == "~":
                word = self.home + word[1:]
            elif word.startswith("file://"):
                word = word[7:]
            if not word or word.startswith("-"):
                continue
            path = word if word.startswith("/") else f"{posix.getcwd()}/{word}"
            try:
                posix.stat(path)
            except (OSError, ValueError):
                # What a server creates itself, as a database, needs the folder it will lie in.
                folder = path.rpartition("/")[0]
                if not word.startswith("/") or not self._is_folder(folder):
                    continue
                path = folder
            found.append((index, path))
        return found

    @staticmethod
    def _is_folder(path: str) -> bool:
        try:
            return posix.stat(path).st_mode & 0o170000 == 0o040000
        except OSError:
            return False

    def _negotiate(self, grants: list) -> plan.Plan:
        """The plan for the newest interface that the kernel really takes; RHEL kernels have claimed more than that."""
        abi = landlock.abi()
        abi = min(abi, landlock.NEWEST, self.policy.max_abi or landlock.NEWEST)
        while abi:
            made = plan.Plan(self.policy, grants, abi)
            try:
                posix.close(landlock.create_ruleset(*made.handled()))
                return made
            except OSError as problem:
                if problem.errno != errno.EINVAL:
                    raise
                abi -= 1
        raise Refused("the kernel claims Landlock and takes no ruleset; see probe host")

    def _refuse_unsafe_places(self) -> None:
        for path in {sys.executable, __file__}:
            place = system.real(path)
            policy.refuse_writable(place)
            policy.refuse_writable(place.rpartition("/")[0] or "/")
        status = posix.stat(self.path)
        if status.st_mode & 0o6000:
            raise Refused(f"{self.path}: runs with other rights than yours (setuid), and confinement takes those away")
        folder = self.path.rpartition("/")[0] or "."
        mode = posix.stat(folder).st_mode
        if mode & 0o1002 == 0o002:
            raise Refused(f"{folder}: anybody may replace the command there (mode {mode & 0o7777:o}); chmod o-w it")

    def confine(self) -> None:
        """Restricts the calling process, for good. Raises `OSError` or `Refused`; then the caller must not go on."""
        for resource, amount in self.policy.limits.items():
            try:
                system.call("prlimit64", 0, policy.LIMITS[resource], system.words(amount, amount), 0)
            except OSError as problem:
                raise Refused(f"--limit {resource}: {problem.strerror}; the session's own limit is lower") from None
        privileges.drop_capabilities()
        self.plan.enforce()

    def execute(self) -> int:
        """Confines the process and becomes the command; returns an exit status only when that failed."""
        self.confine()
        try:
            system.call("close_range", 3, 0xFFFFFFFF, 0)
        except OSError:
            posix.closerange(3, 1 << 20)
        try:
            posix.execve(self.path, self.command, self.variables)
        except OSError as problem:
            cause = "its interpreter is missing or not granted" if problem.errno in (errno.ENOENT, errno.EACCES) else ""
            return complain(f"{self.path}: cannot be executed: {problem.strerror}{'; ' + cause if cause else ''}",
                            NOT_EXECUTABLE)


def complain(text: str, status: int) -> int:
    """One line on stderr, and the status."""
    line = "".join([c if c.isprintable() else "?" for c in f"mcp-confine: {text}"]) + "\n"
    try:
        posix.write(2, line.encode("utf-8", "replace"))
    except OSError:
        pass
    return status


def why_no_landlock(number: int) -> str:
    """What an errno of Landlock's own calls means for somebody who wants a server to start."""
    return {
        errno.ENOSYS: "this kernel has no Landlock, or a filter around this process hides it",
        errno.EOPNOTSUPP: "Landlock is built in but off since boot; add landlock to the kernel's lsm= list",
        errno.EPERM: "a filter around this process forbids Landlock",
        errno.E2BIG: "16 Landlock rulesets are stacked already, and the kernel takes no more",
    }.get(number, posix.strerror(number))


def main(words: "list | None" = None) -> int:
    """Runs the wrapper; returns an exit status unless it became the command."""
    words = sys.argv[1:] if words is None else words
    try:
        return _main(words)
    except Refused as refusal:
        return complain(str(refusal), REFUSED)
    except FileNotFoundError as problem:
        if problem.strerror == "not found":
            return complain(f"{problem.filename}: not found on PATH", NOT_FOUND)
        return complain(f"{problem.filename}: {problem.strerror}", REFUSED)
    except PermissionError as problem:
        if problem.strerror in ("is not a regular file", "is not executable"):
            return complain(f"{problem.filename}: {problem.strerror}", NOT_EXECUTABLE)
        return complain(_failed(problem), REFUSED)
    except OSError as problem:
        return complain(_failed(problem), REFUSED)


def _failed(problem: OSError) -> str:
    call = str(problem.filename or "")
    if call.startswith("landlock_"):
        return f"nothing started: {why_no_landlock(problem.errno or 0)} ({call}: {problem.strerror}); see probe host"
    return f"nothing started: {call}: {problem.strerror}"


def _main(words: list) -> int:
    options, actions, command = policy.parse_arguments(words)
    if "--help" in actions:
        print(policy.help_text())
        return 0
    if "--version" in actions:
        from . import version

        print(f"mcp-confine {version.VERSION}")
        return 0
    if not system.MACHINE:
        raise Refused("needs a 64-bit Python")
    if "--self-test" in actions:
        from . import selftest

        return selftest.command(options, command, "--json" in actions)
    if not command:
        raise Refused("no command; it goes after a bare --, as in mcp-confine --name memory -- npx -y some-server")
    launch = Launch(options, command)
    launch.prepare()
    if "--show" in actions:
        from . import show

        return show.command(launch, "--json" in actions)
    if "--json" in actions:
        raise Refused("--json goes with --show or --self-test")
    return launch.execute()
