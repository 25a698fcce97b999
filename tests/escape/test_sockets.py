"""No UNIX socket of another program is reached: docker.sock, the user's bus, agents, the display, the system log."""
from __future__ import annotations

from .conftest import Vector, every

READ_GRANTED, WRITE_GRANTED = ("--ro", "{top}/granted"), ("--rw", "{top}/granted")
ONE_SOCKET = ("--unix", "{stream_in_granted_folder}", "--allow-degraded", "unix")
NO_RING = {"ENOSYS": "no io_uring in this kernel", "EPERM": "kernel.io_uring_disabled", "EINVAL": "no sockets by ring"}


@every([
    Vector(1, "sockets.connect", "unix"),
    Vector(1, "sockets.connect_in_packets", "unix"),
    Vector(1, "sockets.connect_by_raw_number", "unix"),
    Vector(36, "sockets.connect_by_raw_number_with_high_bits", "unix"),
    Vector(1, "sockets.connect_through_own_symbolic_link", "unix"),
    Vector(1, "sockets.connect_in_granted_folder", "unix", READ_GRANTED),
    Vector(1, "sockets.connect_in_granted_folder", "unix", WRITE_GRANTED),
    Vector(3, "sockets.send_datagram", "unix"),
    Vector(13, "sockets.be_handed_a_descriptor", "unix"),
    Vector(4, "sockets.connect_through_io_uring", "kernel", answers=("ENOSYS",), machine=NO_RING),
])
def test_no_socket_with_a_path_is_connected_to(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(3, "sockets.redirect_datagram_pair", "unix"),
    Vector(3, "sockets.send_past_datagram_pair", "unix"),
    Vector(3, "sockets.redirect_raw_pair", "unix"),
    Vector(3, "sockets.redirect_raw_pair_to_abstract_name", "abstract-unix"),
])
def test_a_pair_of_its_own_is_not_turned_to_another_program(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(5, "sockets.connect_to_abstract_name", "abstract-unix"),
    Vector(5, "sockets.send_to_abstract_name", "abstract-unix"),
])
def test_no_abstract_socket_is_reached(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([
    Vector(1, "sockets.connect", "unix", ONE_SOCKET),
    Vector(5, "sockets.connect_to_abstract_name", "abstract-unix", ONE_SOCKET),
    Vector(3, "sockets.redirect_datagram_pair", "unix", ONE_SOCKET),
])
def test_granting_one_socket_opens_no_other_or_says_so(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)
