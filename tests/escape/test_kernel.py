"""The kernel's rarer interfaces are closed, what the client left open is gone, and root has no privilege left."""
from __future__ import annotations

import platform

import pytest

from .conftest import Vector, every

PROC = ("--ro", "/proc")
ABSENT = ("ENOSYS",)
NOT_ALLOWED = {**dict.fromkeys(("EPERM", "EACCES", "ENOSPC"), "a setting of the machine keeps it from this user"),
               **dict.fromkeys(("ENOSYS", "EINVAL", "ENOENT", "ENODEV", "EOPNOTSUPP"), "not in this kernel")}
CLOSED = ("EBADF", "ENOSYS")


@every([
    Vector(4, "kernel.set_up_ring", "kernel", answers=ABSENT, machine=NOT_ALLOWED),
    *[Vector(30, f"kernel.{attempt}", "kernel", answers=ABSENT, machine=NOT_ALLOWED) for attempt in (
        "add_key", "search_keyring", "request_key", "attach_shared_memory", "take_message", "change_semaphore")],
    *[Vector(31, f"kernel.{attempt}", "kernel", machine=NOT_ALLOWED) for attempt in (
        "handle_page_faults", "load_program_into_kernel", "watch_performance")],
])
def test_rings_keys_queues_and_programs_for_the_kernel_are_out_of_reach(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([Vector(31, f"kernel.{attempt}", "userns", policy, ("EPERM", "ENOSYS"), NOT_ALLOWED)
        for policy in ((), ("--userns", "allow"))
        for attempt in ("unshare_user", "unshare_user_and_network", "clone_user", "clone3_user")]
       + [Vector(31, "kernel.enter_namespace_of_another", "userns", machine=NOT_ALLOWED)])
def test_a_user_namespace_is_made_only_where_the_policy_allows_it(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(14, "kernel.type_into_terminal", "devices", stdin="terminal", machine={"EIO": "dev.tty.legacy_tiocsti=0"}),
    Vector(36, "kernel.type_into_terminal_with_high_bits", "devices", stdin="terminal",
           machine={"EIO": "dev.tty.legacy_tiocsti=0"}),
    Vector(14, "kernel.paste_into_console", "devices", stdin="console", users=("root",),
           machine={"ENOTTY": "no virtual console here", "EPERM": "no virtual console here"}),
])
def test_nothing_is_typed_into_the_terminal_that_it_was_given(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([Vector(13, f"kernel.{attempt}", "descriptors", answers=CLOSED, machine={"ENOSYS": "no io_uring here"})
        for attempt in ("use_inherited_file", "use_inherited_folder", "use_inherited_terminal",
                        "use_inherited_connection", "use_inherited_listener", "use_inherited_memory",
                        "use_inherited_process", "use_inherited_ring", "use_highest_descriptor")])
def test_nothing_that_the_client_left_open_is_there(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    *[Vector(35, f"kernel.{attempt}", "", users=("root",), machine=NOT_ALLOWED) for attempt in (
        "load_module", "unload_module", "rename_host", "change_root", "regain_a_capability", "become_another_user")],
    Vector(35, "kernel.pass_for_another_user", "", users=("root",)),
    Vector(35, "network.open_raw_ip", "", users=("root",)),
    Vector(35, "kernel.get_capabilities_by_exec", "", PROC, users=("root",)),
])
def test_root_is_a_name_without_power(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


NO_32_BIT = {"SIGSEGV": "no 32-bit calls in this kernel", "ENOSYS": "no such call in this kernel",
             "EPERM": "user namespaces are restricted"}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="32-bit and x32 calls are x86's")
@every([
    *[Vector(36, f"x86.{attempt}", "kernel", policy, ("SIGSYS",), NO_32_BIT) for attempt, policy in (
        ("socket_by_32_bit_call", ()), ("internet_socket_by_32_bit_call", ("--net", "none")),
        ("namespace_by_32_bit_call", ()), ("empty_by_32_bit_call", ()))],
    Vector(36, "x86.socket_by_x32_number", "kernel", answers=ABSENT, machine=NO_32_BIT),
])
def test_calls_by_the_numbers_of_another_architecture_end_the_server(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)
