"""System calls by number, and the few path helpers that a fast start can afford.

`ctypes` costs half an interpreter start, nearly all of it in definitions that a call by number does not need, so the
extension module underneath is used where it still looks as CPython 3.9 to 3.14 have it, and `ctypes` where not. For
the same reason this package speaks `posix`, which is built in, and not `os`.
"""
import posix
import sys

CLOEXEC_PATH = posix.O_PATH | posix.O_CLOEXEC

try:
    import _ctypes

    class _Long(_ctypes._SimpleCData):
        _type_ = "l"

    class _SystemCall(_ctypes.CFuncPtr):
        _flags_ = _ctypes.FUNCFLAG_CDECL | _ctypes.FUNCFLAG_USE_ERRNO
        _restype_ = _Long

    class _Bytes(_ctypes.Array):
        _type_ = type("_Char", (_ctypes._SimpleCData,), {"_type_": "c"})
        _length_ = 4096 * 8

    _syscall = _SystemCall(_ctypes.dlsym(_ctypes.dlopen(None, 2), "syscall"))  # type: ignore[arg-type]
    _get_errno, _address, _buffer = _ctypes.get_errno, _ctypes.addressof, _Bytes
except (ImportError, AttributeError, TypeError):  # another Python, or a CPython that moved its private parts
    import ctypes

    _Long, _get_errno, _address = ctypes.c_long, ctypes.get_errno, ctypes.addressof  # type: ignore[misc,assignment]
    _syscall = ctypes.CDLL(None, use_errno=True).syscall  # type: ignore[assignment]
    _syscall.restype = _Long
    _buffer = ctypes.c_char * (4096 * 8)  # type: ignore[assignment]

# name: (x86-64, every architecture with the generic table). Source: the kernel's unistd headers.
CALLS = {
    "add_key": (248, 217),
    "bpf": (321, 280),
    "capset": (126, 91),
    "clone": (56, 220),
    "clone3": (435, 435),
    "close_range": (436, 436),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioprio_set": (251, 30),
    "keyctl": (250, 219),
    "landlock_add_rule": (445, 445),
    "landlock_create_ruleset": (444, 444),
    "landlock_restrict_self": (446, 446),
    "listen": (50, 201),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "open": (2, None),
    "openat": (257, 56),
    "openat2": (437, 437),
    "perf_event_open": (298, 241),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "seccomp": (317, 277),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "sendmmsg": (307, 269),
    "sendmsg": (46, 211),
    "sendto": (44, 206),
    "setns": (308, 268),
    "setpriority": (141, 140),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "truncate": (76, 45),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
}
# machine as uname tells it: (column of CALLS, AUDIT_ARCH value)
MACHINES = {
    "x86_64": (0, 0xC000003E),
    "aarch64": (1, 0xC00000B7),
    "riscv64": (1, 0xC00000F3),
}


# A 32-bit interpreter has other numbers than the kernel's uname says, and its calls would pass no filter of ours.
MACHINE = posix.uname().machine if sys.maxsize > 1 << 32 else ""


def number(name: str, machine: str = MACHINE) -> "int | None":
    """The system call's number on `machine`, or None where that architecture does not have it or is not known."""
    row = MACHINES.get(machine)
    return CALLS[name][row[0]] if row else None


def call(name: str, *words: "int | bytes") -> int:
    """Makes the system call; integers go as longs, bytes as a pointer to them. Raises `OSError`."""
    # The calls that every Linux machine numbers alike (424 and up) also work where the table has no column.
    code = number(name) or CALLS[name][1]
    answer = _syscall(_Long(code), *[_Long(word) if isinstance(word, int) else word for word in words])
    answer = getattr(answer, "value", answer)
    if answer < 0:
        code = _get_errno()
        raise OSError(code, posix.strerror(code), name)
    return answer


class Pinned:
    """Bytes at an address that stays; for structures that hold a pointer."""

    def __init__(self, content: bytes) -> None:
        self._memory = _buffer()
        self._memory[: len(content)] = content
        self.address: int = _address(self._memory)


def words(*values: int, size: int = 8) -> bytes:
    """Unsigned integers of `size` bytes each, packed in the machine's byte order."""
    return b"".join([value.to_bytes(size, sys.byteorder) for value in values])


def resolved(descriptor: int, otherwise: str) -> str:
    """The path that an open descriptor stands for, links resolved; `otherwise` where /proc does not tell."""
    try:
        return posix.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return otherwise


def real(path: str) -> str:
    """`path` with its links resolved as far as it exists; a missing tail is kept as it is written."""
    tail = ""
    while True:
        try:
            descriptor = posix.open(path or "/", CLOEXEC_PATH)
        except OSError:
            path, _, last = path.rstrip("/").rpartition("/")
            tail = f"/{last}{tail}"
            if not path:
                return tail
            continue
        try:
            return (resolved(descriptor, path).rstrip("/") + tail) or "/"
        finally:
            posix.close(descriptor)


def walk(path: str) -> tuple:
    """(entries, end): each entry that a lookup of `path` meets, links followed one at a time, and where it ends.

    All are absolute and hold no link above their last part. A part that is missing is kept as it is written.
    """
    entries, place, left, links = [], "", path.split("/")[::-1], 40  # the kernel follows as many
    while left:
        part = left.pop()
        if part in ("", "."):
            continue
        if part == "..":
            place = place.rpartition("/")[0]
            continue
        entry = f"{place}/{part}"
        entries.append(entry)
        try:
            target = posix.readlink(entry)
        except OSError:
            place = entry
            continue
        links -= 1
        if not links:
            break
        if target.startswith("/"):
            place = ""
        left += target.split("/")[::-1]
    return entries, place or "/"


def entered(path: str, folders: list) -> str:
    """Which of `folders`, links resolved, has something in it that decides where `path` leads; "" for none."""
    for entry in walk(path)[0]:
        for folder in folders:
            if entry != folder and covers(folder, entry):
                return folder
    return ""


def covers(folder: str, path: str) -> bool:
    """Whether `path` is `folder` or lies below it; both absolute."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def text(value: bytes) -> str:
    """Bytes of a path or a variable as the interpreter spells them."""
    return value.decode(sys.getfilesystemencoding(), "surrogateescape")


def raw(value: str) -> bytes:
    """The inverse of `text`."""
    return value.encode(sys.getfilesystemencoding(), "surrogateescape")
