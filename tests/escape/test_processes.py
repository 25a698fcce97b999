"""Other processes of the same user are neither signalled, traced, read nor steered."""
from __future__ import annotations

from .conftest import Vector, every

PROC = ("--ro", "/proc")
GONE = ("EACCES", "EPERM", "ENOENT")
TRACE = {"EPERM": "ptrace_scope"}


@every([Vector(8, f"processes.{attempt}", "signals") for attempt in (
    "send_signal", "send_signal_to_thread", "send_signal_by_descriptor", "have_the_kernel_send_a_signal")])
def test_no_signal_reaches_them(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    *[Vector(9, f"processes.{attempt}", "ptrace", machine={**TRACE, "ENOSYS": "not in this kernel"}) for attempt in (
        "attach", "seize", "read_memory", "write_memory", "take_descriptor", "compare")],
    *[Vector(9, f"processes.{attempt}", "ptrace", PROC) for attempt in ("read_memory_file", "read_map_of_memory",
                                                                         "read_files_of_it")],
    Vector(10, "processes.read_environment", "ptrace", PROC),
    Vector(10, "processes.read_environment", "files"),
    Vector(11, "processes.read_command_line", "files"),
])
def test_their_memory_environment_and_files_are_not_read(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([Vector(12, f"processes.{attempt}", "other-processes") for attempt in (
    "read_limits", "set_limits", "set_limits_with_high_bits", "pin", "change_scheduler", "change_scheduling_parameter",
    "change_scheduling_attributes", "slow", "slow_group", "slow_input_and_output")]
    + [Vector(12, "processes.slow_everything_of_the_user", "other-processes", users=("person",))])
def test_their_limits_and_scheduling_are_not_changed(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)
