"""Policy and kernel to rules: what is granted, which filter is needed, and how each protection is enforced.

`gather` collects the grants from policy, preset and runtime; `Plan` is the judgement, free of effects; `Plan.enforce`
is the act, in the calling process.
"""
import errno
import posix

from . import landlock, seccomp, system
from .policy import DNS_PORT, Policy, Refused

READ = landlock.mask("execute", "read_file", "read_dir")
# Device nodes are never made: MAKE_CHAR and MAKE_BLOCK are in no grant.
WRITE = READ | landlock.mask("write_file", "remove_dir", "remove_file", "make_dir", "make_reg", "make_sock",
                             "make_fifo", "make_sym", "refer", "truncate", "ioctl_dev")
DEVICE = landlock.mask("read_file", "write_file")
SOCKET = landlock.mask("resolve_unix")
KINDS = {"read": READ, "write": WRITE, "device": DEVICE, "unix": SOCKET}

# What every server may read. Absent ones are nothing to report: no distribution has them all.
SYSTEM = (
    *[(path, "read", "programs and libraries") for path in
      ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")],
    *[(path, "read", "the loader and the C library") for path in
      ("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/localtime",
       "/etc/timezone", "/etc/os-release", "/etc/locale.alias", "/etc/passwd", "/etc/group", "/etc/mime.types")],
    *[(path, "read", "names and addresses") for path in
      ("/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services",
       "/etc/protocols",
       # The resolvers replace their files by rename, so the folder is granted where it holds nothing else.
       "/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/connman/resolv.conf")],
    *[(path, "read", "certificates and TLS settings") for path in
      ("/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/ssl/cert.pem", "/etc/ca-certificates",
       "/etc/pki/tls/certs", "/etc/pki/tls/cert.pem", "/etc/pki/tls/openssl.cnf", "/etc/pki/ca-trust",
       "/etc/crypto-policies", "/var/lib/ca-certificates")],
    *[(path, "read", "settings of runtimes and launchers") for path in
      ("/etc/gitconfig", "/etc/npmrc", "/etc/pip.conf", "/etc/uv", "/etc/python3", "/etc/python3.11",
       "/etc/python3.12", "/etc/python3.13", "/etc/fonts", "/etc/terminfo")],
    *[(path, "read", "the machine's size") for path in
      ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/version", "/proc/filesystems",
       "/proc/sys/vm/overcommit_memory", "/sys/devices/system/cpu")],
    *[(path, "device", "the usual devices") for path in
      ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")],
)
# Looked at by many programs and harmless to refuse: not worth a line each in the audit log (from ABI 10).
QUIET = ("/proc", "/sys", "/dev/tty")

# Protections by the name that --require and --allow-degraded use: (name, what it means)
PROTECTIONS = (
    ("files", "nothing is read or written that is not granted"),
    ("refer", "renaming and linking between directories"),
    ("truncate", "emptying files that are granted for reading only"),
    ("tcp", "TCP to ports that are not granted"),
    ("tcp-ways-round", "TCP by fast open, MPTCP and other stream protocols"),
    ("listen", "listening without bind"),
    ("udp", "UDP to ports that are not granted"),
    ("devices", "terminal injection, ioctl on devices"),
    ("abstract-unix", "abstract UNIX sockets of other processes"),
    ("unix", "UNIX sockets by path: docker.sock, D-Bus, agents"),
    ("signals", "signals to other processes"),
    ("ptrace", "tracing other processes and reading their memory and environment"),
    ("other-processes", "limits and scheduling of other processes"),
    ("kernel", "io_uring, keyrings, System V IPC and POSIX queues, bpf, perf, userfaultfd"),
    ("families", "vsock, packet, netlink and other socket families"),
    ("userns", "new user namespaces"),
    ("descriptors", "files that the client left open"),
    ("environment", "variables that were not meant for this server"),
    ("limits", "core dumps and resource limits"),
    ("metadata", "reading names and sizes, changing modes and times of the user's own files"),
)

LANDLOCK, SECCOMP, WRAPPER = "enforced by landlock", "enforced by seccomp", "enforced by the wrapper"
DEGRADED, UNAVAILABLE, OPEN = "degraded", "unavailable", "not restricted"
ENFORCED = (LANDLOCK, SECCOMP, WRAPPER)


class Grant:
    """One rule: the path as it was asked for, its kind, why, and whether it must exist."""

    __slots__ = ("descriptor", "kind", "needed", "path", "reason")

    def __init__(self, path: str, kind: str, reason: str, needed: bool = False) -> None:
        self.path, self.kind, self.reason, self.needed = path, kind, reason, needed
        self.descriptor = -1

    def pinned(self) -> str:
        """Where the opened inode lies, links resolved; what the name means may have changed since. Raises `Refused`."""
        try:
            return posix.readlink(f"/proc/self/fd/{self.descriptor}")
        except OSError:
            raise Refused(f"{self.path}: /proc does not tell where it leads ({self.reason}); mount /proc") from None

    def open(self) -> bool:
        """Pins the inode; False where nothing is there. Raises `Refused` where a needed one cannot be had."""
        try:
            self.descriptor = posix.open(self.path, system.CLOEXEC_PATH)
        except OSError as problem:
            if self.needed:
                raise Refused(f"{self.path}: cannot be granted for writing ({self.reason}): {problem.strerror}; "
                              "create it first") from None
            return False
        return True


class Plan:
    """What will be enforced on this kernel. `abi` is the interface used: the kernel's, the table's or --max-abi."""

    def __init__(self, policy: Policy, grants: list, abi: int, machine: str = system.MACHINE) -> None:
        self.policy, self.grants, self.abi, self.machine = policy, grants, abi, machine
        self.filtering = seccomp.supported(machine)
        self.missing: list = []
        self.ports = _ports(policy, abi)

    @property
    def unix_by_filter(self) -> bool:
        """Whether the filter must close UNIX sockets because this kernel's Landlock cannot."""
        return self.abi < 9 and not self.policy.unix

    def handled(self) -> tuple:
        """Handled access for files, network and scopes: all that this kernel knows and the policy restricts."""
        network = 0
        if self.policy.network != "any":
            network = landlock.known(landlock.NETWORK_RIGHTS, self.abi)
        scopes = landlock.known(landlock.SCOPES, self.abi)
        return landlock.known(landlock.FILE_RIGHTS, self.abi), network, scopes

    def rules(self) -> tuple:
        """The seccomp rules that this policy needs on this kernel."""
        policy, rules = self.policy, seccomp.KERNEL_SURFACE + seccomp.OTHER_PROCESSES
        rules += seccomp.FAMILIES + seccomp.TERMINAL_INJECTION
        if not policy.userns:
            rules += seccomp.USER_NAMESPACES
        if self.unix_by_filter:
            rules += seccomp.UNIX_SOCKETS
        if policy.network == "none":
            rules += seccomp.NO_NETWORK
        elif policy.network == "ports":
            rules += seccomp.TCP_WAYS_ROUND
        if self._no_listen:
            rules += seccomp.LISTEN
        if self.abi < 3:
            rules += seccomp.TRUNCATE
        if self.abi < 5:
            rules += seccomp.NEITHER_READ_NOR_WRITE
        return rules

    @property
    def _no_listen(self) -> bool:
        # Also where Landlock could tell UNIX sockets apart: what holds on one kernel holds on the next.
        return self.policy.network == "ports" and not self.policy.bind and not self.policy.unix

    def states(self) -> dict:
        """Each protection's name to (state, why)."""
        abi, policy = self.abi, self.policy
        filtered = (SECCOMP, "") if self.filtering else (
            UNAVAILABLE, f"no filter for {self.machine or 'a 32-bit Python'}")
        since = {name: f"Landlock has it from ABI {number}, this is {abi}"
                 for name, number in (("tcp", 4), ("scope", 6), ("unix", 9), ("udp", 10))}
        states = {
            "files": (LANDLOCK, ""),
            "refer": (LANDLOCK, "") if abi >= 2 else (LANDLOCK, "before ABI 2 always denied, also where granted"),
            "truncate": (LANDLOCK, "") if abi >= 3 else filtered,
            "tcp-ways-round": filtered,
            "listen": filtered,
            "devices": filtered,
            "abstract-unix": (LANDLOCK, "") if abi >= 6 else filtered if self.unix_by_filter else (
                UNAVAILABLE, since["scope"]),
            "unix": filtered,
            "signals": (LANDLOCK, "") if abi >= 6 else (UNAVAILABLE, since["scope"]),
            "ptrace": (LANDLOCK, ""),
            "other-processes": filtered,
            "kernel": filtered,
            "families": filtered,
            "userns": (OPEN, "the policy allows them") if policy.userns else filtered,
            "descriptors": (WRAPPER, ""),
            "environment": (WRAPPER, ""),
            "limits": (WRAPPER, ""),
            "metadata": (UNAVAILABLE, "no Landlock version restricts it"),
        }
        if abi >= 9:
            states["unix"] = (LANDLOCK, "")
        elif policy.unix:
            states["unix"] = (UNAVAILABLE, f"one path cannot be granted without all others: {since['unix']}")
        if policy.network == "any":
            for name in ("tcp", "tcp-ways-round", "listen", "udp"):
                states[name] = (OPEN, "the policy allows any network")
        elif policy.network == "none":
            for name in ("tcp", "udp"):
                states[name] = filtered if self.filtering else (
                    (LANDLOCK, "") if abi >= {"tcp": 4, "udp": 10}[name] else filtered)
        else:
            states["tcp"] = (LANDLOCK, "") if abi >= 4 else (UNAVAILABLE, since["tcp"])
            states["udp"] = (LANDLOCK, "") if abi >= 10 else (UNAVAILABLE, since["udp"])
            if not self._no_listen:
                states["listen"] = (UNAVAILABLE, "listen is needed for a granted port or socket, "
                                                 "and without bind the kernel picks a port")
        return states

    def refuse_what_cannot_be(self) -> None:
        """Raises `Refused` where a required protection, or one that was asked for, is not enforced."""
        states, policy = self.states(), self.policy
        known = [name for name, _ in PROTECTIONS]
        for name in [*policy.require, *policy.allow_degraded]:
            if name not in known:
                raise Refused(f"no protection is called {name!r}; there are {', '.join(known)}")
        required = list(policy.require)
        if policy.network == "ports" and policy.network_asked:
            required.append("tcp")
            if any([protocol == "udp" for _, protocol in [*policy.connect, *policy.bind]]):
                required.append("udp")
        if policy.unix:
            required.append("unix")
        for name in required:
            state, why = states[name]
            if state not in ENFORCED and name not in policy.allow_degraded:
                raise Refused(f"{name}: {state}{': ' + why if why else ''}; --allow-degraded {name} starts anyway")

    def enforce(self) -> None:
        """Puts the calling process under the plan, for good. Raises `OSError` or `Refused`; then nothing may start."""
        files, network, scopes = self.handled()
        quiet = landlock.mask("read_file", "read_dir") if self.abi >= landlock.QUIET_SINCE else 0
        ruleset = landlock.create_ruleset(files, network, scopes, quiet)
        for grant in self.grants:
            access = self.access(grant, files)
            if access:
                landlock.allow_path(ruleset, grant.descriptor, access)
        for port, access in self.ports.items():
            landlock.allow_port(ruleset, port, access)
        if quiet:
            for path in QUIET:
                self._quieten(ruleset, path)
        landlock.restrict(ruleset, self.abi)
        if self.filtering:
            seccomp.install(seccomp.assemble(self.rules(), self.machine))

    def access(self, grant: Grant, files: int) -> int:
        """The rights of a grant that this kernel knows and that its inode can carry; 0 where nothing is left."""
        access = KINDS[grant.kind] & files
        # By the pinned inode, not by name: what the name means may have changed since.
        if posix.fstat(grant.descriptor).st_mode & 0o170000 != 0o040000:
            access &= landlock.ON_FILE
        return access

    def _quieten(self, ruleset: int, path: str) -> None:
        grant = Grant(path, "read", "")
        if grant.open():
            try:
                landlock.allow_path(ruleset, grant.descriptor, 0, quiet=True)
            except OSError as problem:
                if problem.errno != errno.EINVAL:
                    raise
            posix.close(grant.descriptor)


def _ports(policy: Policy, abi: int) -> dict:
    """Port to access rights, for the rights that the ABI knows."""
    if policy.network != "ports":
        return {}
    known = landlock.known(landlock.NETWORK_RIGHTS, abi)
    ports: dict = {}
    for number, protocol in policy.connect:
        ports[number] = ports.get(number, 0) | landlock.mask(
            "connect_tcp" if protocol == "tcp" else "connect_send_udp")
    for number, protocol in policy.bind:
        ports[number] = ports.get(number, 0) | landlock.mask("bind_tcp" if protocol == "tcp" else "bind_udp")
    if policy.connect:
        # Names must resolve; and a UDP client is bound to port 0 by its first send.
        ports[DNS_PORT] = ports.get(DNS_PORT, 0) | landlock.mask("connect_tcp", "connect_send_udp")
        ports[0] = ports.get(0, 0) | landlock.mask("bind_udp")
    return {port: access & known for port, access in ports.items() if access & known}
