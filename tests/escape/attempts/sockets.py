"""Ways to a UNIX socket of another program: docker.sock, the user's bus, agents, the display, the system log."""
import array
import os
import socket
import struct

from toolbox import HIGH, call, fail

SOCK_RAW = 3  # for UNIX sockets another word for SOCK_DGRAM


def connect(places):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(places["stream"])


def connect_in_packets(places):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
        client.connect(places["packets"])


def connect_by_raw_number(places):
    client = call("socket", socket.AF_UNIX, socket.SOCK_STREAM, 0)
    with socket.socket(fileno=client) as client:
        client.connect(places["stream"])


def connect_by_raw_number_with_high_bits(places):
    client = call("socket", HIGH | socket.AF_UNIX, HIGH | socket.SOCK_STREAM, 0)
    with socket.socket(fileno=client) as client:
        client.connect(places["stream"])


def connect_through_own_symbolic_link(places):
    link = places["private"] + "/socket"
    if not os.path.islink(link):
        os.symlink(places["stream"], link)
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(link)


def connect_in_granted_folder(places):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(places["stream_in_granted_folder"])


def send_datagram(places):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", places["datagram"])


def redirect_datagram_pair(places):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.connect(places["datagram"])
        one.send(b"x")


def send_past_datagram_pair(places):
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        one.sendto(b"x", places["datagram"])


def redirect_raw_pair(places):
    one, other = socket.socketpair(socket.AF_UNIX, SOCK_RAW)
    with one, other:
        one.connect(places["datagram"])
        one.send(b"x")


def redirect_raw_pair_to_abstract_name(places):
    one, other = socket.socketpair(socket.AF_UNIX, SOCK_RAW)
    with one, other:
        one.connect("\0" + places["abstract_datagram"])
        one.send(b"x")


def connect_to_abstract_name(places):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect("\0" + places["abstract"])


def send_to_abstract_name(places):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", "\0" + places["abstract_datagram"])


def be_handed_a_descriptor(places):
    """A helper outside hands an open file to whoever connects."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(places["helper"])
        _, ancillary, _, _ = client.recvmsg(16, socket.CMSG_SPACE(4))
    descriptors = array.array("i")
    descriptors.frombytes(ancillary[0][2])
    if b"SECRET" not in os.pread(descriptors[0], 99, 0):
        fail(5)


def connect_through_io_uring(places):
    """Socket and connect as operations of a ring, which no filter on system calls sees."""
    import ctypes
    import mmap

    parameters = ctypes.create_string_buffer(120)
    ring = call("io_uring_setup", 4, parameters)
    offsets = struct.unpack_from("40x8I8x8I8x", parameters.raw)
    _, sq_tail, sq_mask, sq_entries, _, _, sq_array, _, cq_head, _, cq_mask, _, _, cqes, _, _ = offsets
    shared = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0x8000)
    submission = mmap.mmap(ring, sq_array + 4 * sq_entries, flags=shared, offset=0)
    completion = mmap.mmap(ring, cqes + 16 * 16, flags=shared, offset=0x8000000)
    entries = mmap.mmap(ring, 64 * sq_entries, flags=shared, offset=0x10000000)

    def operate(operation, descriptor, offset, address, length):
        tail = struct.unpack_from("I", submission, sq_tail)[0]
        mask = struct.unpack_from("I", submission, sq_mask)[0]
        struct.pack_into("=BBHiQQII32x", entries, 64 * (tail & mask), operation, 0, 0, descriptor, offset, address,
                         length, 0)
        struct.pack_into("I", submission, sq_array + 4 * (tail & mask), tail & mask)
        struct.pack_into("I", submission, sq_tail, tail + 1)
        call("io_uring_enter", ring, 1, 1, 1, None, 0)
        head = struct.unpack_from("I", completion, cq_head)[0]
        wrap = struct.unpack_from("I", completion, cq_mask)[0]
        result = struct.unpack_from("i", completion, cqes + 16 * (head & wrap) + 8)[0]
        struct.pack_into("I", completion, cq_head, head + 1)
        if result < 0:
            fail(-result)
        return result

    client = operate(45, socket.AF_UNIX, socket.SOCK_STREAM, 0, 0)  # IORING_OP_SOCKET, from Linux 5.19
    path = places["stream"].encode()
    name = ctypes.create_string_buffer(struct.pack("H", socket.AF_UNIX) + path + b"\0")
    operate(16, client, len(path) + 3, ctypes.addressof(name), 0)  # IORING_OP_CONNECT
