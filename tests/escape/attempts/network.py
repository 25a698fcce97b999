"""Ways to a port that was not granted, and to address families beside IP."""
import ctypes
import socket
import struct

from toolbox import HIGH, call, libc

MSG_FASTOPEN, TCP_FASTOPEN_CONNECT = 0x20000000, 30
IPPROTO_MPTCP, IPPROTO_SCTP, IPPROTO_UDPLITE = 262, 132, 136


def here(places, what="port"):
    return ("127.0.0.1", places[what])


def connect_tcp(places):
    socket.create_connection(here(places), 5).close()


def connect_tcp_by_raw_number_with_high_bits(places):
    client = call("socket", HIGH | socket.AF_INET, socket.SOCK_STREAM, 0)
    with socket.socket(fileno=client) as client:
        client.connect(here(places))


def connect_tcp_over_ipv6(places):
    with socket.socket(socket.AF_INET6) as client:
        client.connect(("::ffff:127.0.0.1", places["port"]))


def connect_tcp_after_connecting_to_nothing(places):
    """AF_UNSPEC, which dissolves an association, is no way to a second one that nobody checks."""
    with socket.socket() as client:
        libc.connect(client.fileno(), bytes(16), 16)
        client.connect(here(places))


def bind_tcp(places):
    with socket.socket() as server:
        server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        server.bind(here(places, "free_port"))


def listen_without_bind(_places):
    with socket.socket() as server:
        server.listen()


def fast_open_by_sendto(places):
    with socket.socket() as client:
        client.sendto(b"x", MSG_FASTOPEN, here(places))


def fast_open_by_sendmsg(places):
    with socket.socket() as client:
        client.sendmsg([b"x"], [], MSG_FASTOPEN, here(places))


def _messages(places):
    """One struct mmsghdr for one byte to the port, and what it points to."""
    address = ctypes.create_string_buffer(
        struct.pack("=HH4s8x", socket.AF_INET, socket.htons(places["port"]), bytes((127, 0, 0, 1))))
    byte = ctypes.create_string_buffer(b"x")
    vector = ctypes.create_string_buffer(struct.pack("=QQ", ctypes.addressof(byte), 1))
    header = struct.pack("=QI4xQQQQI4xI4x", ctypes.addressof(address), 16, ctypes.addressof(vector), 1, 0, 0, 0, 0)
    return ctypes.create_string_buffer(header), (address, byte, vector)


def fast_open_by_sendmmsg(places):
    header, _kept = _messages(places)
    with socket.socket() as client:
        call("sendmmsg", client.fileno(), header, 1, MSG_FASTOPEN)


def fast_open_with_high_bits(places):
    address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(places["port"]), bytes((127, 0, 0, 1)))
    with socket.socket() as client:
        call("sendto", client.fileno(), b"x", 1, HIGH | MSG_FASTOPEN, address, 16)


def fast_open_by_option(places):
    with socket.socket() as client:
        client.setsockopt(socket.IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)
        client.connect(here(places))
        client.send(b"x")


def connect_multipath(places):
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP) as client:
        client.connect(here(places))


def open_sctp(_places):
    socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_SCTP).close()


def open_raw_ip(_places):
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP).close()


def send_udp(places):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", here(places, "udp_port"))


def send_udp_connected(places):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.connect(here(places, "udp_port"))
        client.send(b"x")


def send_udp_over_ipv6(places):
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as client:
        client.sendto(b"x", ("::ffff:127.0.0.1", places["udp_port"]))


def send_udp_lite(places):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, IPPROTO_UDPLITE) as client:
        client.sendto(b"x", here(places, "udp_port"))


def send_ping(_places):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as client:
        client.sendto(b"\x08\0\0\0\0\1\0\1", ("127.0.0.1", 0))


def open_vsock(_places):
    socket.socket(40, socket.SOCK_STREAM).close()


def open_packet(_places):
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close()


def watch_devices(_places):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_DGRAM, 15) as watcher:  # NETLINK_KOBJECT_UEVENT
        watcher.bind((0, 1))


def watch_audit(_places):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9).close()


def use_kernels_cryptography(_places):
    socket.socket(38, socket.SOCK_SEQPACKET).close()  # AF_ALG


def open_smc(_places):
    socket.socket(43, socket.SOCK_STREAM).close()  # AF_SMC, which falls back to TCP


def open_tipc_pair(_places):
    one, other = socket.socketpair(30, socket.SOCK_SEQPACKET)  # AF_TIPC
    one.close(), other.close()
