"""The seccomp filter: what Landlock does not have, or does not have yet on this kernel.

A filter is a table of rules. Each names a system call, the conditions on its arguments that must all hold, and the
errno that then answers. Whatever no rule names is allowed. EACCES answers where a policy could grant the act, the
error of a kernel built without the feature where it could not, so that programs take the way they have for that.
"""
import errno

from . import system

PR_SET_SECCOMP_MODE_FILTER = 1  # operation of seccomp(2)

AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET = 1, 2, 5
TYPE = 0xF  # the socket type without SOCK_CLOEXEC and SOCK_NONBLOCK
IPPROTO_ICMP, IPPROTO_TCP, IPPROTO_UDP, IPPROTO_ICMPV6 = 1, 6, 17, 58
MSG_FASTOPEN = 0x20000000
CLONE_NEWUSER = 0x10000000
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
O_ACCMODE, O_TRUNC = 0o3, 0o1000
ALL = 0xFFFFFFFF

# A condition: (argument, mask, wanted, value): the argument's low 32 bits, masked, equal the value or do not.
Condition = tuple
Rule = tuple  # (system call, conditions, errno)


def is_(argument: int, value: int, mask: int = ALL) -> Condition:
    """Holds where the masked argument equals `value`."""
    return (argument, mask, True, value)


def not_(argument: int, value: int, mask: int = ALL) -> Condition:
    """Holds where the masked argument differs from `value`."""
    return (argument, mask, False, value)


_INET = (not_(0, AF_UNIX), not_(0, AF_NETLINK))  # after FAMILIES nothing else is left

KERNEL_SURFACE: tuple[Rule, ...] = (
    ("io_uring_setup", (), errno.ENOSYS),
    ("io_uring_enter", (), errno.ENOSYS),
    ("io_uring_register", (), errno.ENOSYS),
    ("keyctl", (), errno.ENOSYS),
    ("add_key", (), errno.ENOSYS),
    ("request_key", (), errno.ENOSYS),
    # Segments and queues of the user's other programs, reached by number or name; no Landlock right covers them.
    *[(name, (), errno.ENOSYS) for name in
      ("shmget", "shmat", "shmctl", "msgget", "msgsnd", "msgrcv", "msgctl", "semget", "semop", "semtimedop", "semctl",
       "mq_open", "mq_unlink")],
    ("bpf", (), errno.EPERM),
    ("perf_event_open", (), errno.EPERM),
    ("userfaultfd", (), errno.EPERM),
)
# Which process an argument means cannot be seen here, so only "myself" is let through: pid 0.
OTHER_PROCESSES: tuple[Rule, ...] = (
    ("prlimit64", (not_(0, 0),), errno.EPERM),
    ("sched_setaffinity", (not_(0, 0),), errno.EPERM),
    ("sched_setscheduler", (not_(0, 0),), errno.EPERM),
    ("sched_setparam", (not_(0, 0),), errno.EPERM),
    ("sched_setattr", (not_(0, 0),), errno.EPERM),
    ("setpriority", (not_(0, 0),), errno.EPERM),  # which: 0 a process, else a group or all of a user's
    ("setpriority", (not_(1, 0),), errno.EPERM),
    ("ioprio_set", (not_(0, 1),), errno.EPERM),  # which: 1 a process
    ("ioprio_set", (not_(1, 0),), errno.EPERM),
)
FAMILIES: tuple[Rule, ...] = (
    ("socket", (not_(0, AF_UNIX), not_(0, AF_INET), not_(0, AF_INET6), not_(0, AF_NETLINK)), errno.EAFNOSUPPORT),
    # NETLINK_ROUTE lists the network interfaces; the others steer or watch the kernel.
    ("socket", (is_(0, AF_NETLINK), not_(2, 0)), errno.EPROTONOSUPPORT),
)
TERMINAL_INJECTION: tuple[Rule, ...] = (
    ("ioctl", (is_(1, TIOCSTI),), errno.EPERM),
    ("ioctl", (is_(1, TIOCLINUX),), errno.EPERM),
)
USER_NAMESPACES: tuple[Rule, ...] = (
    ("clone", (is_(0, CLONE_NEWUSER, CLONE_NEWUSER),), errno.EPERM),
    ("clone3", (), errno.ENOSYS),  # its flags lie in memory; the C library then uses clone
    ("unshare", (is_(0, CLONE_NEWUSER, CLONE_NEWUSER),), errno.EPERM),
    ("setns", (), errno.EPERM),
)
UNIX_SOCKETS: tuple[Rule, ...] = (
    ("socket", (is_(0, AF_UNIX),), errno.EACCES),
    # A datagram pair, which SOCK_RAW makes too, can be connected anew, to any socket by path; these two cannot.
    ("socketpair", (is_(0, AF_UNIX), not_(1, SOCK_STREAM, TYPE), not_(1, SOCK_SEQPACKET, TYPE)), errno.EACCES),
)
NO_NETWORK: tuple[Rule, ...] = (
    ("socket", (is_(0, AF_INET),), errno.EACCES),
    ("socket", (is_(0, AF_INET6),), errno.EACCES),
)
# What passes Landlock's TCP rules: protocols that are not TCP, and data sent with the handshake.
TCP_WAYS_ROUND: tuple[Rule, ...] = (
    ("socket", (*_INET, is_(1, SOCK_STREAM, TYPE), not_(2, 0), not_(2, IPPROTO_TCP)), errno.EPROTONOSUPPORT),
    ("socket", (*_INET, is_(1, SOCK_DGRAM, TYPE), not_(2, 0), not_(2, IPPROTO_UDP), not_(2, IPPROTO_ICMP),
                not_(2, IPPROTO_ICMPV6)), errno.EPROTONOSUPPORT),
    ("socket", (*_INET, not_(1, SOCK_STREAM, TYPE), not_(1, SOCK_DGRAM, TYPE)), errno.EPROTONOSUPPORT),
    ("sendto", (is_(3, MSG_FASTOPEN, MSG_FASTOPEN),), errno.EOPNOTSUPP),
    ("sendmsg", (is_(2, MSG_FASTOPEN, MSG_FASTOPEN),), errno.EOPNOTSUPP),
    ("sendmmsg", (is_(3, MSG_FASTOPEN, MSG_FASTOPEN),), errno.EOPNOTSUPP),
)
LISTEN: tuple[Rule, ...] = (("listen", (), errno.EACCES),)
# Before ABI 3 a file granted for reading can be emptied; which file a path means cannot be seen here.
TRUNCATE: tuple[Rule, ...] = (
    ("truncate", (), errno.EACCES),
    ("open", (is_(1, O_TRUNC, O_ACCMODE | O_TRUNC),), errno.EACCES),
    ("openat", (is_(2, O_TRUNC, O_ACCMODE | O_TRUNC),), errno.EACCES),
)
# Access mode 3 opens for neither reading nor writing, which needs no right, and still empties and takes ioctl on any
# device; the rights that stop it come with ABI 3 and 5.
NEITHER_READ_NOR_WRITE: tuple[Rule, ...] = (
    ("open", (is_(1, O_ACCMODE, O_ACCMODE),), errno.EACCES),
    ("openat", (is_(2, O_ACCMODE, O_ACCMODE),), errno.EACCES),
    ("openat2", (), errno.ENOSYS),  # its flags lie in memory; programs then use openat
)

# Classic BPF over struct seccomp_data {int nr; u32 arch; u64 pc; u64 args[6]}; all system.MACHINES are little-endian.
_LOAD, _AND, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_ALLOW, _ERRNO, _KILL_PROCESS = 0x7FFF0000, 0x00050000, 0x80000000
_X32 = 0x40000000


def supported(machine: str = system.MACHINE) -> bool:
    """Whether filters can be written for this architecture."""
    return machine in system.MACHINES


def assemble(rules: tuple[Rule, ...], machine: str = system.MACHINE) -> bytes:
    """The BPF program for `rules` on `machine`, 8 bytes an instruction.

    Another architecture's calls kill the process; x32 calls are answered as a kernel without x32 does.
    """
    calls: dict = {}
    for name, conditions, answer in rules:
        code = system.number(name, machine)
        if code is not None:
            calls.setdefault(code, []).append((conditions, answer))
    program = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_EQUAL, system.MACHINES[machine][1], 1, 0),
        _instruction(_RETURN, _KILL_PROCESS),
        _instruction(_LOAD, _NUMBER),
    ]
    if machine == "x86_64":
        program += [_instruction(_AT_LEAST, _X32, 0, 1), _instruction(_RETURN, _ERRNO | errno.ENOSYS)]
    for code, answers in calls.items():
        body = []
        for conditions, answer in answers:
            body += _rule(conditions, answer)
        body.append(_instruction(_RETURN, _ALLOW))
        program.append(_instruction(_EQUAL, code, 0, len(body)))
        program += body
    program.append(_instruction(_RETURN, _ALLOW))
    return b"".join(program)


def _rule(conditions: tuple, answer: int) -> list:
    tests = []
    for argument, mask, wanted, value in conditions:
        test = [_instruction(_LOAD, _ARGUMENTS + 8 * argument)]
        if mask != ALL:
            test.append(_instruction(_AND, mask))
        tests.append((test, wanted, value))
    body = [_instruction(_RETURN, _ERRNO | answer)]
    for test, wanted, value in reversed(tests):  # a condition that fails jumps over all that is left of its rule
        left = len(body)
        body = [*test, _instruction(_EQUAL, value, *((0, left) if wanted else (left, 0))), *body]
    return body


def _instruction(code: int, operand: int, if_true: int = 0, if_false: int = 0) -> bytes:
    if if_true > 255 or if_false > 255:
        raise ValueError("a rule is too long for BPF's jumps")
    return (code | if_true << 16 | if_false << 24 | operand << 32).to_bytes(8, "little")


def install(program: bytes) -> None:
    """Puts the calling thread, and all that it starts, under the filter; needs no_new_privs. Raises `OSError`."""
    memory = system.Pinned(program)
    header = system.words(len(program) // 8, memory.address)  # unsigned short padded to eight bytes, then the pointer
    system.call("seccomp", PR_SET_SECCOMP_MODE_FILTER, 0, header)
