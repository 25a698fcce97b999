"""The staged attempt at a user namespace. Also runs as a program of its own, so it stands on the standard library.

Prints "ok STAGE", "fail STAGE ERRNO" and, after the first stage, "label TEXT".
"""
import ctypes
import errno
import fcntl
import os
import socket
import struct

CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET = 0x20000, 0x10000000, 0x40000000
MS_SLAVE, MS_REC = 1 << 19, 1 << 14
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 1
REQUEST = "16sh22x"  # struct ifreq


def unshare(what):
    if ctypes.CDLL(None, use_errno=True).unshare(what):
        raise OSError(ctypes.get_errno(), "unshare")


def make_slave():
    library = ctypes.CDLL(None, use_errno=True)
    if library.mount(b"none", b"/", None, ctypes.c_ulong(MS_SLAVE | MS_REC), None):
        raise OSError(ctypes.get_errno(), "mount")


def write(path, content):
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, content.encode())
    finally:
        os.close(descriptor)


def loopback_up():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        answer = fcntl.ioctl(handle, SIOCGIFFLAGS, struct.pack(REQUEST, b"lo", 0))
        flags = struct.unpack_from("16sh", answer)[1]
        fcntl.ioctl(handle, SIOCSIFFLAGS, struct.pack(REQUEST, b"lo", flags | IFF_UP))


USER, GROUP = os.geteuid(), os.getegid()
STAGES = {
    "make user namespace": lambda: unshare(CLONE_NEWUSER),
    "write setgroups": lambda: write("/proc/self/setgroups", "deny"),
    "write uid_map": lambda: write("/proc/self/uid_map", f"0 {USER} 1"),
    "write gid_map": lambda: write("/proc/self/gid_map", f"0 {GROUP} 1"),
    "make mount namespace": lambda: unshare(CLONE_NEWNS),
    "make / slave": make_slave,
    "make network namespace": lambda: unshare(CLONE_NEWNET),
    "bring lo up": loopback_up,
}


def attempt(say):
    """Goes through the stages until one fails; `say` gets each line at once, since a filter may kill at any."""
    for number, (stage, act) in enumerate(STAGES.items()):
        try:
            act()
        except OSError as problem:
            say(f"fail {stage} {errno.errorcode.get(problem.errno or 0, 'unknown')}")
            return
        say(f"ok {stage}")
        if number == 0:
            say_label(say)


def say_label(say):
    """What AppArmor calls this process now: Ubuntu moves who made a namespace into a profile without rights."""
    try:
        with open("/proc/self/attr/current", "rb") as label:
            say("label " + label.read(200).decode("utf-8", "replace").strip("\0\n "))
    except OSError:
        pass


if __name__ == "__main__":
    attempt(lambda line: print(line, flush=True))
