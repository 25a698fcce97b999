"""A classic BPF machine, as small as the filters need, to ask a filter about calls of any architecture."""
from __future__ import annotations

import errno

ALLOW, KILL = "allow", "kill"


def answer(program: bytes, machine: int, number: int, *arguments: int) -> str:
    """What the filter says to a call: "allow", "kill" or the name of an errno."""
    data = number.to_bytes(4, "little") + machine.to_bytes(4, "little") + bytes(8)
    data += b"".join((word & (1 << 64) - 1).to_bytes(8, "little") for word in [*arguments, *[0] * (6 - len(arguments))])
    accumulator, at = 0, 0
    while True:
        word = int.from_bytes(program[at * 8:at * 8 + 8], "little")
        code, if_true, if_false, operand = word & 0xFFFF, word >> 16 & 0xFF, word >> 24 & 0xFF, word >> 32
        at += 1
        if code == 0x20:
            accumulator = int.from_bytes(data[operand:operand + 4], "little")
        elif code == 0x54:
            accumulator &= operand
        elif code == 0x15:
            at += if_true if accumulator == operand else if_false
        elif code == 0x35:
            at += if_true if accumulator >= operand else if_false
        elif code == 0x06:
            if operand == 0x7FFF0000:
                return ALLOW
            return KILL if operand == 0x80000000 else errno.errorcode[operand & 0xFFFF]
        else:
            raise AssertionError(f"instruction {code:#x} is none of those a filter needs")
