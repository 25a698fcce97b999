"""The wrapper: reads its options, plans, confines itself and becomes the command. See `policy.help_text`."""
import errno
import posix
import sys

from . import environment, landlock, plan, policy, presets, privileges, protect, runtime, system
from .policy import Refused

REFUSED, NOT_EXECUTABLE, NOT_FOUND = 125, 126, 127

# Folders that are never granted just because the client stands in them.
NO_WORKING_DIRECTORY = ("/etc", "/proc", "/sys", "/dev", "/run", "/boot")
NO_WORKING_DIRECTORY_ITSELF = ("/", "/home", "/root", "/var", "/tmp", "/srv", "/mnt", "/media")
# Written with a log beside them.
DATABASES = (".db", ".db3", ".sqlite", ".sqlite3", ".duckdb")


class Launch:
    """Everything decided about one start, before anything is restricted."""

    def __init__(self, options: list, command: list) -> None:
        self.command = command
        self.environment: dict = dict(posix.environ)
        spoken = dict(options)
        if spoken.get("--user"):
            privileges.become(spoken["--user"], self.environment)
        self.home = environment.home_of(posix.geteuid(), self.environment)
        self.homes = environment.homes_of(posix.geteuid(), self.home)
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
        asked = self._asked()
        private = plan.Grant(self.folders.data, "write", "the server's private folder", needed=True)
        private.open()
        own = [private, plan.Grant(self.folders.config, "read", "settings carried along for the launcher")]
        write = self._writable(asked)
        self.writable = [grant.pinned() for grant in [private, *write]]
        parts = runtime.Runtime(self.homes, search, self.writable)
        parts.follow(self.path if self.path[0] == "/" else f"{posix.getcwd()}/{self.path}", "the command")
        for word in self.preset.programs:
            parts.also(word, f"started by {self.preset.name}")
        for script in self.preset.scripts:
            parts.program(script)
        self._refuse_unsafe_places()
        self.variables = environment.build(
            self.policy, self.preset, parts.variables, self.folders, self.environment, self.added)
        given = [*own, *[plan.Grant(*row) for row in plan.SYSTEM]]
        found = self._found(parts, given)
        granted = [grant for grant in given if grant.descriptor >= 0 or grant.open()]
        granted += [grant for grant in found if grant.open() and self._stays(grant, grant.path in parts.led)]
        granted += [grant for grant in asked if self._is_there(grant) and self._stays(grant)]
        self.notes += [f"~/{name}: holds a password, so the launcher does not get it; give it by --ro and --setenv"
                       for name in self.folders.left_behind]
        self.plan = self._negotiate(granted)
        self.plan.refuse_what_cannot_be()

    def _asked(self) -> list:
        """The grants that the policy and the command line ask for."""
        rules = self.policy
        write, read = list(rules.write), list(rules.read)
        if rules.arguments:
            access, origin = rules.arguments
            (write if access == "rw" else read).extend(
                [(path, f"{word}, {origin}") for word, path in self._argument_paths(access)])
        return [*[plan.Grant(path, "read", origin) for path, origin in read],
                *[plan.Grant(path, "write", origin, needed=True) for path, origin in write],
                *[plan.Grant(path, "unix", origin) for path, origin in rules.unix]]

    def _writable(self, asked: list) -> list:
        """The write grants among these, opened, and none of them dangerous."""
        write = [grant for grant in asked if grant.kind == "write"]
        if write:
            for grant in write:
                grant.open()
            protect.refuse_dangerous([(grant.path, grant.pinned(), grant.reason) for grant in write], self.homes)
        return write

    def _found(self, parts: runtime.Runtime, given: list) -> list:
        """The grants that follow from the command, the variables and the working directory."""
        found = [plan.Grant(path, "read", reason) for path, reason in parts.grants.items()]
        for name in environment.CERTIFICATES:
            path = system.text(self.variables.get(system.raw(name), b""))
            if path.startswith("/") and not any([system.covers(grant.path, path) for grant in [*given, *found]]):
                found.append(plan.Grant(path, "read", f"certificates named by {name}"))
        try:
            folder = posix.getcwd()
        except OSError:
            folder = "/"
        if self._may_read(folder):
            found.append(plan.Grant(folder, "read", "the working directory"))
        return found

    def _is_there(self, grant: plan.Grant) -> bool:
        if grant.descriptor >= 0 or grant.open():
            return True
        self.notes.append(f"{grant.path}: not there, so not granted ({grant.reason})")
        return False

    def _stays(self, grant: plan.Grant, led: "bool | None" = None) -> bool:
        """Whether a grant leads where the server itself could not have led it by what it wrote in an earlier start.

        `led` says so already of a grant that was found and not asked for; such a one is left out. One that was asked
        for raises `Refused`. Judged by the inode that is open, so a running server cannot swap it in between.
        """
        folder = system.entered(grant.path, self.writable)
        if not folder and not led:
            return True
        target = grant.pinned()
        # A folder that may be written because a link led there vouches for nothing, least of all for itself.
        if any([system.covers(place, target) for place in self.writable if grant.kind != "write" or place != target]):
            return True
        if led is None:
            raise Refused(f"{grant.path}: leads out of {folder or 'its folder'}, which the server may write and so "
                          f"lead elsewhere ({grant.reason}); grant {target} by that name, or a narrower folder")
        if runtime.is_software(target, self.homes):
            return True
        self.notes.append(f"{grant.path}: not granted, for the server may write what leads there ({grant.reason}); "
                          f"if it needs it, --ro {target}")
        return False

    def _may_read(self, folder: str) -> bool:
        """Whether the working directory is one that may be read: no home, nothing above one, no hidden part of it."""
        for home in [system.real(home) for home in self.homes]:  # as the working directory is told: without links
            below = folder[len(home) + 1:] if folder.startswith(home + "/") else ""
            if system.covers(folder, home) or below.startswith("."):
                return False
        return not (folder in NO_WORKING_DIRECTORY_ITSELF
                    or any([system.covers(top, folder) for top in NO_WORKING_DIRECTORY]))

    def _argument_paths(self, access: str) -> list:
        """(which argument, path) of those that name something that exists, as they are after expansion."""
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
            which = f"argument {index}"
            try:
                kind = posix.stat(path).st_mode & 0o170000
            except (OSError, ValueError):
                kind = 0
            # What a server creates itself needs the folder it will lie in, and so does the log beside a database.
            # Told by its name: what is in the file is the server's own word.
            if (not kind and word.startswith("/")) or (
                    kind == 0o100000 and access == "rw" and path.endswith(DATABASES)):
                which += "'s folder, where its log goes too" if kind else "'s folder, for it is not there yet"
                path = path.rpartition("/")[0] or "/"
                kind = 0o040000 if self._is_folder(path) else 0
            if not kind:
                continue
            found.append((which, path))
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
