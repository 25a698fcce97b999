"""Root's way down: become a user, or stay root without a single capability."""
import errno
import posix

from . import system
from .policy import Refused

PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_SECUREBITS, PR_CAP_AMBIENT = 23, 24, 28, 47
PR_CAP_AMBIENT_CLEAR_ALL = 4
# SECBIT_NOROOT, SECBIT_NO_SETUID_FIXUP and SECBIT_NO_CAP_AMBIENT_RAISE, each with its lock.
SECUREBITS = 0b00000011 | 0b00001100 | 0b11000000
CAPABILITY_VERSION_3 = 0x20080522


def become(name: str, environment: dict) -> None:
    """Turns the process into user `name`, groups and login variables included. Raises `Refused`."""
    import pwd

    try:
        user = pwd.getpwnam(name)
    except KeyError:
        raise Refused(f"--user {name}: no such user on this host") from None
    if posix.geteuid() != user.pw_uid:
        try:
            posix.initgroups(name, user.pw_gid)
            posix.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
            posix.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
        except OSError as problem:
            raise Refused(f"--user {name}: cannot become that user: {problem.strerror}; only root can") from None
        for variable, value in (("HOME", user.pw_dir), ("USER", name), ("LOGNAME", name), ("SHELL", user.pw_shell)):
            environment[system.raw(variable)] = system.raw(value)


def drop_capabilities() -> None:
    """Leaves the process, and what it execs, without capabilities. Raises `Refused` where root would keep some."""
    if posix.geteuid() == 0 or posix.getuid() == 0:
        kept = False
        for capability in range(64):
            try:
                system.call("prctl", PR_CAPBSET_DROP, capability, 0, 0, 0)
            except OSError as problem:
                if problem.errno == errno.EINVAL:  # past the last one that the kernel knows
                    break
                kept = _may_gain_some()  # inside of another wrapper there is nothing left to drop
                break
        else:
            raise Refused("this kernel knows more capabilities than can be dropped; use --user")
        if kept:
            raise Refused("started as root without the right to drop its capabilities (CAP_SETPCAP); "
                          "start it as the user, or with --user")
        try:
            system.call("prctl", PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0)
        except OSError:
            pass  # with an empty bounding set nothing is left that these bits would forbid
    try:
        system.call("prctl", PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    except OSError:
        pass  # outer filters answer so; capset below empties the ambient set too
    system.call("capset", system.words(CAPABILITY_VERSION_3, 0, size=4), bytes(24))


def _may_gain_some() -> bool:
    """Whether the bounding set holds a capability, asked of the kernel: in another wrapper /proc is shut."""
    for capability in range(64):
        try:
            if system.call("prctl", PR_CAPBSET_READ, capability, 0, 0, 0):
                return True
        except OSError:  # past the last one that the kernel knows
            break
    return False
