"""The network policy holds on every interface, or says which part of it does not."""
from __future__ import annotations

from .conftest import Vector, every

ANY, NONE = (), ("--net", "none")
PORT = ("--connect", "{granted_port}", "--allow-degraded", "tcp")
LISTENER = ("--bind", "{granted_port}", "--allow-degraded", "tcp")
REFUSALS = ("EACCES", "EPERM", "EOPNOTSUPP", "EPROTONOSUPPORT", "EAFNOSUPPORT")
TCP = ("connect_tcp", "connect_tcp_by_raw_number_with_high_bits", "connect_tcp_over_ipv6",
       "connect_tcp_after_connecting_to_nothing", "bind_tcp", "fast_open_by_option")
WAYS_ROUND = ("fast_open_by_sendto", "fast_open_by_sendmsg", "fast_open_by_sendmmsg", "fast_open_with_high_bits",
              "connect_multipath", "open_sctp")
UDP = ("send_udp", "send_udp_connected", "send_udp_over_ipv6")
FAMILIES = ("open_vsock", "open_packet", "watch_devices", "watch_audit", "use_kernels_cryptography", "open_smc",
            "open_tipc_pair")
ABSENT = {
    "EAFNOSUPPORT": "this kernel has no such protocol", "EPROTONOSUPPORT": "this kernel has no such protocol",
    "ESOCKTNOSUPPORT": "this kernel has no such protocol", "ENOPROTOOPT": "this kernel has no such protocol",
    "EPERM": "the capability for it", "EACCES": "net.ipv4.ping_group_range",
    "EADDRNOTAVAIL": "no IPv6 here", "ENODEV": "no such device", "EOPNOTSUPP": "this kernel has no such protocol",
}


def vectors(attempts, protection, *policies):
    return [Vector(row, f"network.{attempt}", protection, policy, REFUSALS, ABSENT)
            for row, attempt in attempts for policy in policies]


def rows(row, attempts):
    return [(row, attempt) for attempt in attempts]


@every(vectors(rows(25, TCP), "tcp", ANY, NONE, PORT))
def test_tcp_goes_where_the_policy_says(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([*vectors(rows(25, WAYS_ROUND), "tcp-ways-round", ANY, NONE, PORT),
        *vectors([(25, "send_udp_lite"), (27, "open_raw_ip")], "tcp-ways-round", NONE, PORT)])
def test_there_is_no_way_round_the_rules_for_tcp(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every(vectors([(25, "listen_without_bind")], "listen", ANY, NONE, PORT, LISTENER))
def test_a_port_that_nobody_chose_is_not_opened(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every([*vectors(rows(26, UDP), "udp", ANY, NONE, PORT), *vectors([(27, "send_ping")], "udp", NONE)])
def test_udp_goes_where_the_policy_says(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)


@every(vectors(rows(27, FAMILIES), "families", ANY))
def test_no_other_family_of_sockets_is_had(range_of, vector, user, abi):
    range_of(user).holds(vector, abi)
