"""Landlock: what each version of the kernel's interface brought, and the three system calls.

Constants and structures are those of `linux/landlock.h`; the versions those of its documentation.
"""
import errno
import posix

from . import system

# (ABI, first Linux, what it brought). A kernel newer than the last row is used as the last row.
ABIS = (
    (1, "5.13", "file rights"),
    (2, "5.19", "rename and link between directories"),
    (3, "6.2", "truncate"),
    (4, "6.7", "TCP bind and connect"),
    (5, "6.10", "ioctl on devices"),
    (6, "6.12", "scopes for abstract UNIX sockets and signals"),
    (7, "6.15", "audit flags"),
    (8, "7.0", "restriction of all threads"),
    (9, "7.1", "UNIX sockets by path"),
    (10, "7.2", "UDP, quiet rules"),
    (11, "7.3", "no_new_privs in one step"),
)
NEWEST = ABIS[-1][0]

# Access to files: name, bit, first ABI, whether it may stand in a rule on something that is not a directory.
FILE_RIGHTS = (
    ("execute", 1 << 0, 1, True),
    ("write_file", 1 << 1, 1, True),
    ("read_file", 1 << 2, 1, True),
    ("read_dir", 1 << 3, 1, False),
    ("remove_dir", 1 << 4, 1, False),
    ("remove_file", 1 << 5, 1, False),
    ("make_char", 1 << 6, 1, False),
    ("make_dir", 1 << 7, 1, False),
    ("make_reg", 1 << 8, 1, False),
    ("make_sock", 1 << 9, 1, False),
    ("make_fifo", 1 << 10, 1, False),
    ("make_block", 1 << 11, 1, False),
    ("make_sym", 1 << 12, 1, False),
    ("refer", 1 << 13, 2, False),
    ("truncate", 1 << 14, 3, True),
    ("ioctl_dev", 1 << 15, 5, True),
    ("resolve_unix", 1 << 16, 9, True),
)
NETWORK_RIGHTS = (
    ("bind_tcp", 1 << 0, 4),
    ("connect_tcp", 1 << 1, 4),
    ("bind_udp", 1 << 2, 10),
    ("connect_send_udp", 1 << 3, 10),
)
SCOPES = (
    ("abstract_unix_socket", 1 << 0, 6),
    ("signal", 1 << 1, 6),
)
RESTRICT_FLAGS = (
    # Without it the kernel's audit log is silent about everything after exec, which is all that a wrapper is about.
    ("log_new_exec_on", 1 << 1, 7),
    ("no_new_privs", 1 << 4, 11),
)

_BITS = {row[0]: row[1] for table in (FILE_RIGHTS, NETWORK_RIGHTS, SCOPES) for row in table}
ON_FILE = sum(bit for _, bit, _, on_file in FILE_RIGHTS if on_file)

CREATE_VERSION, CREATE_ERRATA = 1 << 0, 1 << 1
RULE_PATH, RULE_PORT = 1, 2
QUIET_RULE, QUIET_SINCE = 1 << 0, 10
PR_SET_NO_NEW_PRIVS = 38


def mask(*names: str) -> int:
    """The bits of the named rights of one table."""
    return sum([_BITS[name] for name in names])


def known(table: tuple, abi: int) -> int:
    """All bits of a table that a kernel of that ABI knows."""
    return sum([row[1] for row in table if row[2] <= abi])


def abi() -> int:
    """The kernel's own answer, 1 or more; it may be newer than this table.

    Raises `OSError`: ENOSYS not built in or filtered away, EOPNOTSUPP built in but not among the active LSMs, EPERM
    filtered away. A filter may also kill the caller, so who only wants to know asks in a child.
    """
    return system.call("landlock_create_ruleset", 0, 0, CREATE_VERSION)


def errata() -> int:
    """The kernel's mask of fixed Landlock errata (bit N-1 stands for erratum N), 0 where it does not answer."""
    try:
        return system.call("landlock_create_ruleset", 0, 0, CREATE_ERRATA)
    except OSError:
        return 0


def create_ruleset(files: int, network: int, scopes: int, quiet_files: int = 0) -> int:
    """A new ruleset's descriptor for the handled access given. Raises `OSError`; EINVAL means an unknown bit.

    The structure is always passed whole: an older kernel takes it as long as what it does not know is zero.
    """
    attributes = system.words(files, network, scopes, quiet_files, 0, 0)
    return system.call("landlock_create_ruleset", attributes, len(attributes), 0)


def allow_path(ruleset: int, descriptor: int, access: int, quiet: bool = False) -> None:
    """Grants `access` on the inode behind an O_PATH descriptor and, if it is a directory, on all below it."""
    beneath = system.words(access) + system.words(descriptor, size=4)
    system.call("landlock_add_rule", ruleset, RULE_PATH, beneath, QUIET_RULE if quiet else 0)


def allow_port(ruleset: int, port: int, access: int) -> None:
    """Grants `access` on a port; a kernel without IP has nothing to restrict and says EAFNOSUPPORT."""
    try:
        system.call("landlock_add_rule", ruleset, RULE_PORT, system.words(access, port), 0)
    except OSError as problem:
        if problem.errno != errno.EAFNOSUPPORT:
            raise


def restrict(ruleset: int, abi: int) -> None:
    """Puts the calling thread, and all that it starts, under the ruleset, for good.

    Sets no_new_privs too: together with the restriction from ABI 11, just before it on older kernels. Raises
    `OSError`; E2BIG means that 16 rulesets are stacked already.
    """
    flags = known(RESTRICT_FLAGS, abi)
    if abi < RESTRICT_FLAGS[1][2]:
        system.call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    system.call("landlock_restrict_self", ruleset, flags)
    posix.close(ruleset)
