"""What the attempts share: raw system calls, and the way an attempt says what came of it.

Stands alone on Python 3.9 and its standard library: it is sent along with an attempt, not installed.
"""
import ctypes
import errno
import json
import os
import signal
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
HIGH = 1 << 32  # a bit that the kernel drops from an int argument, and that a careless filter compares

# name: (x86-64, the generic table of aarch64 and riscv64)
NUMBERS = {
    "add_key": (248, 217), "bpf": (321, 280), "clone": (56, 220), "clone3": (435, 435), "delete_module": (176, 106),
    "init_module": (175, 105), "io_uring_enter": (426, 426), "io_uring_setup": (425, 425), "ioctl": (16, 29),
    "ioprio_set": (251, 30), "kcmp": (312, 272), "keyctl": (250, 219), "linkat": (265, 37), "mount": (165, 40),
    "mq_open": (240, 180), "mq_unlink": (241, 181), "msgrcv": (70, 188), "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "open_tree": (428, 428), "openat": (257, 56),
    "openat2": (437, 437), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438), "pidfd_open": (434, 434),
    "pidfd_send_signal": (424, 424), "prlimit64": (302, 261), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "ptrace": (101, 117), "renameat2": (316, 276), "request_key": (249, 218),
    "rt_sigqueueinfo": (129, 138), "sched_setattr": (314, 274), "semop": (65, 193), "sendmmsg": (307, 269),
    "sendto": (44, 206), "setns": (308, 268), "shmat": (30, 196), "socket": (41, 198), "tgkill": (234, 131),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282),
}
COLUMN = 0 if os.uname().machine == "x86_64" else 1


def fail(number):
    raise OSError(number, os.strerror(number))


def call(name, *words):
    """The system call itself, around the C library; integers go as 64 bits. Raises OSError."""
    number = name if isinstance(name, int) else NUMBERS[name][COLUMN]
    answer = libc.syscall(ctypes.c_long(number),
                          *[ctypes.c_ulong(word & (1 << 64) - 1) if isinstance(word, int) else word for word in words])
    if answer < 0:
        fail(ctypes.get_errno())
    return answer


def in_child(act):
    """Runs `act` in a child of its own, for what changes its caller, and raises what it met there."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        number = 0
        try:
            act()
        except OSError as problem:
            number = problem.errno
        os.write(writing, number.to_bytes(4, "little"))
        os._exit(0)
    os.close(writing)
    number = int.from_bytes(os.read(reading, 4) or (errno.EFAULT).to_bytes(4, "little"), "little")
    os.close(reading)
    os.waitpid(child, 0)
    if number:
        fail(number)


def main(attempt):
    """Exit 0: it got through. Exit 1 and the errno's name: it was stopped. Exit 2: the attempt itself is broken."""
    signal.alarm(20)
    try:
        attempt(json.loads(sys.argv[1]))
    except OSError as problem:
        print(errno.errorcode.get(problem.errno or 0, problem).replace("ENOTSUP", "EOPNOTSUPP"))
        sys.exit(1)
    except Exception:
        import traceback  # costs as much as all the others

        traceback.print_exc()
        sys.exit(2)
    print("through")
