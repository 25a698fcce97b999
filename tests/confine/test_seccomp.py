"""The filter answers as the table says, on every architecture, whatever the unused halves of arguments hold."""
from __future__ import annotations

import pytest

from probe.confine import seccomp, system

from . import bpf

RULES = (seccomp.KERNEL_SURFACE + seccomp.OTHER_PROCESSES + seccomp.FAMILIES + seccomp.TERMINAL_INJECTION
         + seccomp.USER_NAMESPACES + seccomp.UNIX_SOCKETS + seccomp.TCP_WAYS_ROUND + seccomp.TRUNCATE
         + seccomp.NEITHER_READ_NOR_WRITE)
HIGH = 0xDEADBEEF << 32

# (call, arguments, answer)
CALLS = [
    ("socket", (1, 1, 0), "EACCES"),
    ("socket", (1, 1 | 0x80000 | 0x800, 0), "EACCES"),
    ("socket", (2, 1, 0), "allow"),
    ("socket", (10, 1 | 0x80000, 6), "allow"),
    ("socket", (2, 2 | 0x800, 17), "allow"),
    ("socket", (2, 2, 1), "allow"),
    ("socket", (2, 1, 262), "EPROTONOSUPPORT"),
    ("socket", (10, 1 | 0x80000, 132), "EPROTONOSUPPORT"),
    ("socket", (2, 5, 132), "EPROTONOSUPPORT"),
    ("socket", (2, 6, 33), "EPROTONOSUPPORT"),
    ("socket", (2, 2, 136), "EPROTONOSUPPORT"),
    ("socket", (16, 3, 0), "allow"),
    ("socket", (16, 3 | 0x80000, 0), "allow"),
    ("socket", (16, 3, 15), "EPROTONOSUPPORT"),
    ("socket", (40, 1, 0), "EAFNOSUPPORT"),
    ("socket", (17, 3, 0), "EAFNOSUPPORT"),
    ("socket", (38, 5, 0), "EAFNOSUPPORT"),
    ("socket", (43, 1, 0), "EAFNOSUPPORT"),
    ("socketpair", (1, 1, 0), "allow"),
    ("socketpair", (1, 5, 0), "allow"),
    ("socketpair", (1, 2, 0), "EACCES"),
    ("socketpair", (1, 2 | 0x80000, 0), "EACCES"),
    ("socketpair", (1, 3, 0), "EACCES"),
    ("socketpair", (1, 3 | 0x80000, 0), "EACCES"),
    ("mq_open", (0, 2), "ENOSYS"),
    ("mq_unlink", (0,), "ENOSYS"),
    ("openat", (3, 0, 3 | 0o1000), "EACCES"),
    ("openat", (3, 0, 3 | 0x80000), "EACCES"),
    ("openat", (3, 0, 2 | 0o1000), "allow"),
    ("sendto", (3, 0, 0, 0x20000000), "ENOTSUP"),
    ("sendto", (3, 0, 0, 0x20000000 | 0x4000), "ENOTSUP"),
    ("sendto", (3, 0, 0, 0x4000), "allow"),
    ("sendmsg", (3, 0, 0x20000000), "ENOTSUP"),
    ("sendmmsg", (3, 0, 1, 0x20000000), "ENOTSUP"),
    ("ioctl", (0, 0x5412, 0), "EPERM"),
    ("ioctl", (0, 0x541C, 0), "EPERM"),
    ("ioctl", (0, 0x5401, 0), "allow"),
    ("clone", (0x10000000 | 17,), "EPERM"),
    ("clone", (0x01200011,), "allow"),
    ("clone3", (0, 88), "ENOSYS"),
    ("unshare", (0x10000000,), "EPERM"),
    ("unshare", (0x400,), "allow"),
    ("setns", (3, 0), "EPERM"),
    ("prlimit64", (0, 7, 0, 0), "allow"),
    ("prlimit64", (4242, 7, 0, 0), "EPERM"),
    ("sched_setaffinity", (0, 8, 0), "allow"),
    ("sched_setaffinity", (1, 8, 0), "EPERM"),
    ("setpriority", (0, 0, 5), "allow"),
    ("setpriority", (0, 77, 5), "EPERM"),
    ("setpriority", (2, 0, 5), "EPERM"),
    ("ioprio_set", (1, 0, 5), "allow"),
    ("ioprio_set", (3, 0, 5), "EPERM"),
    ("io_uring_setup", (1, 0), "ENOSYS"),
    ("keyctl", (0,), "ENOSYS"),
    ("bpf", (0,), "EPERM"),
    ("shmat", (1, 0, 0), "ENOSYS"),
    ("msgrcv", (1, 0, 0), "ENOSYS"),
    ("openat", (0, 0, 0o1000), "EACCES"),
    ("openat", (0, 0, 0o1001), "allow"),
    ("openat", (0, 0, 0o1002), "allow"),
    ("openat", (0, 0, 0), "allow"),
    ("openat2", (0, 0, 0, 24), "ENOSYS"),
    ("truncate", (0, 0), "EACCES"),
    ("prctl", (22, 2), "allow"),
]


@pytest.mark.parametrize("machine", system.MACHINES)
@pytest.mark.parametrize(("call", "arguments", "wanted"), CALLS, ids=lambda value: str(value))
def test_each_call_is_answered_by_its_low_halves(machine, call, arguments, wanted):
    program = seccomp.assemble(RULES, machine)
    number, audit = system.number(call, machine), system.MACHINES[machine][1]
    assert bpf.answer(program, audit, number, *arguments) == wanted
    # The kernel looks at 32 bits of these arguments, so rubbish above must change nothing.
    assert bpf.answer(program, audit, number, *[HIGH | word for word in arguments]) == wanted


@pytest.mark.parametrize("machine", system.MACHINES)
def test_calls_of_another_architecture_kill_and_x32_is_not_there(machine):
    program = seccomp.assemble(RULES, machine)
    own = system.MACHINES[machine][1]
    for audit in [0x40000003, 0x40000028, *[row[1] for row in system.MACHINES.values()]]:
        said = bpf.answer(program, audit, 0)
        assert said == ("allow" if audit == own else "kill")
    if machine == "x86_64":
        assert bpf.answer(program, own, 0x40000000 | 41, 1, 1, 0) == "ENOSYS"


@pytest.mark.parametrize("machine", system.MACHINES)
def test_every_number_from_none_to_a_thousand_gets_an_answer(machine):
    program = seccomp.assemble(RULES, machine)
    named = {system.number(call, machine) for call, _, _ in RULES}
    for number in range(1000):
        said = bpf.answer(program, system.MACHINES[machine][1], number, 0xFF, 0xFF, 0xFF, 0xFF)
        assert said == "allow" or number in named


def test_open_with_truncation_is_judged_where_the_call_exists():
    assert bpf.answer(seccomp.assemble(RULES, "x86_64"), 0xC000003E, 2, 0, 0o1000) == "EACCES"
    assert system.number("open", "aarch64") is None
    seccomp.assemble(RULES, "aarch64")
