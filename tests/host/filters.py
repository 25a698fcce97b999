"""System call filters for children: they stand for kernels and surroundings that this machine does not have."""
from __future__ import annotations

import ctypes
import errno
import os
import struct
from typing import Any

from probe.confine import system
from probe.host import child, context, landlock, namespaces

LANDLOCK_CALLS = (444, 445, 446)
WRITE = {"x86_64": 1}.get(system.MACHINE, 64)
ALLOW, KILL, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
LOAD, JUMP_EQUAL, RETURN = 0x20, 0x15, 0x06
NUMBER, SIZE = 0, 16 + 2 * 8  # offsets in struct seccomp_data: the call's number, its third argument
ARCHITECTURE = 4


def install(rows: list[tuple[int, int | None, int]]) -> None:
    """Puts this process under a filter; a row is (number of a call, its third argument or None for any, answer)."""
    program = [
        (LOAD, 0, 0, ARCHITECTURE),
        (JUMP_EQUAL, 1, 0, system.MACHINES[system.MACHINE][1]),
        (RETURN, 0, 0, ALLOW),
    ]
    for number, argument, answer in rows:
        program.append((LOAD, 0, 0, NUMBER))
        if argument is None:
            program += [(JUMP_EQUAL, 0, 1, number), (RETURN, 0, 0, answer)]
        else:
            program += [
                (JUMP_EQUAL, 0, 3, number),
                (LOAD, 0, 0, SIZE),
                (JUMP_EQUAL, 0, 1, argument),
                (RETURN, 0, 0, answer),
            ]
    program.append((RETURN, 0, 0, ALLOW))
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *row) for row in program))
    header = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(code)))
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(38, 1, 0, 0, 0) or library.prctl(22, 2, header, 0, 0):
        raise OSError(ctypes.get_errno(), "seccomp")


def observed_under(name: str) -> dict[str, Any]:
    """What a child under the named filter observes, as an overlay: an errno's name, "kill" or "uid_map"."""
    if name == "uid_map":
        size = len(f"0 {os.geteuid()} 1")
        rows = [(WRITE, size, ERRNO | errno.EPERM)]
    else:
        answer = KILL if name == "kill" else ERRNO | getattr(errno, name)
        rows = [(number, None, answer) for number in LANDLOCK_CALLS]
    answer = child.gather({"work": child.Work(lambda: _observe(rows, name), 30)})["work"]
    return answer["result"]


def _observe(rows: list, name: str) -> dict[str, Any]:
    install(rows)
    if name == "uid_map":
        return {"namespaces.stages": namespaces.facts()["stages"], "bubblewrap.run": _never()}
    seen = landlock.facts()
    return {"landlock.abi": seen["abi"], "landlock.restrict": seen["restrict"], "landlock.self_tests": [],
            "context.status": context.facts()["status"]}


def _never() -> dict[str, Any]:
    return {"state": "known", "value": {"passed": False, "exit": 1, "said": "", "label": None, "bounding_set": None},
            "how": "recorded", "why": None}
