"""One policy, every kernel: what is handled, what the filter adds, and what is honestly not enforced."""
from __future__ import annotations

import pytest

from probe.confine import landlock, plan, seccomp
from probe.confine.policy import Policy, Refused

ABIS = [row[0] for row in landlock.ABIS]


def policy(*options: str, origin: str = "command line") -> Policy:
    made = Policy()
    for line in options:
        option, _, value = line.partition(" ")
        made.take(option, value, origin, "/home/somebody")
    return made


def states(abi: int, *options: str, machine: str = "x86_64") -> dict[str, str]:
    return {name: state for name, (state, _) in plan.Plan(policy(*options), [], abi, machine).states().items()}


# protection, options, the ABI from which Landlock itself enforces it, what stands in before
ROWS = [
    ("files", (), 1, None),
    ("truncate", (), 3, plan.SECCOMP),
    ("tcp", ("--connect 443",), 4, plan.UNAVAILABLE),
    ("signals", (), 6, plan.UNAVAILABLE),
    ("abstract-unix", (), 6, plan.SECCOMP),
    ("unix", (), 9, plan.SECCOMP),
    ("unix", ("--unix /run/x",), 9, plan.UNAVAILABLE),
    ("abstract-unix", ("--unix /run/x",), 6, plan.UNAVAILABLE),
    ("udp", ("--connect 53/udp",), 10, plan.UNAVAILABLE),
]


@pytest.mark.parametrize(("protection", "options", "since", "before"), ROWS)
def test_landlock_enforces_from_its_version_on_and_something_else_is_said_before(protection, options, since, before):
    for abi in ABIS:
        wanted = plan.LANDLOCK if abi >= since else before
        assert states(abi, *options)[protection] == wanted, f"ABI {abi}"


@pytest.mark.parametrize("abi", ABIS)
def test_no_network_is_enforced_by_the_filter_on_every_kernel(abi):
    told = states(abi, "--net none")
    assert {told[name] for name in ("tcp", "udp", "tcp-ways-round", "listen")} == {plan.SECCOMP}
    assert set(seccomp.NO_NETWORK) <= set(plan.Plan(policy("--net none"), [], abi).rules())


@pytest.mark.parametrize("abi", ABIS)
def test_listening_is_closed_where_no_port_is_granted_for_it_on_every_kernel(abi):
    assert states(abi, "--connect 443")["listen"] == plan.SECCOMP
    for granted in ("--bind 8080", "--unix /run/x"):
        assert states(abi, "--connect 443", granted)["listen"] == plan.UNAVAILABLE


@pytest.mark.parametrize("abi", ABIS)
def test_unix_sockets_are_closed_on_every_kernel_and_open_only_where_landlock_can_tell_them_apart(abi):
    closed = plan.Plan(policy(), [], abi)
    assert (set(seccomp.UNIX_SOCKETS) <= set(closed.rules())) == (abi < 9)
    granted = plan.Plan(policy("--unix /run/x"), [], abi)
    assert not set(seccomp.UNIX_SOCKETS) & set(granted.rules())
    if abi < 9:
        with pytest.raises(Refused, match="unix: unavailable"):
            granted.refuse_what_cannot_be()
        plan.Plan(policy("--unix /run/x", "--allow-degraded unix"), [], abi).refuse_what_cannot_be()
    else:
        granted.refuse_what_cannot_be()


@pytest.mark.parametrize("abi", ABIS)
def test_every_right_that_the_kernel_knows_is_handled_and_no_other(abi):
    files, network, scopes = plan.Plan(policy("--net none"), [], abi).handled()
    assert files == sum(bit for _, bit, since, _ in landlock.FILE_RIGHTS if since <= abi)
    assert network == sum(bit for _, bit, since in landlock.NETWORK_RIGHTS if since <= abi)
    assert scopes == (3 if abi >= 6 else 0)
    assert plan.Plan(policy(), [], abi).handled()[1] == 0


def test_device_nodes_can_be_made_by_nobody():
    assert not plan.WRITE & landlock.mask("make_char", "make_block")


def test_without_a_filter_nothing_is_said_to_be_filtered():
    for abi in ABIS:
        told = states(abi, machine="s390x")
        assert plan.SECCOMP not in told.values()
        assert told["files"] == plan.LANDLOCK
        assert told["kernel"] == plan.UNAVAILABLE


def test_a_list_of_ports_includes_dns_and_what_a_udp_client_needs():
    assert plan.Plan(policy("--connect 443"), [], 11).ports == {443: 2, 53: 2 | 8, 0: 4}
    assert plan.Plan(policy("--connect 443"), [], 4).ports == {443: 2, 53: 2}
    assert plan.Plan(policy("--bind 8080"), [], 11).ports == {8080: 1}


def test_a_restriction_that_was_asked_for_and_cannot_be_had_is_refused():
    with pytest.raises(Refused, match="tcp: unavailable: Landlock has it from ABI 4, this is 3"):
        plan.Plan(policy("--connect 443"), [], 3).refuse_what_cannot_be()
    plan.Plan(policy("--connect 443", "--allow-degraded tcp"), [], 3).refuse_what_cannot_be()
    # A preset's own narrowing is a gain where it can be had, and no reason to start nothing where it cannot.
    plan.Plan(policy("--connect 443", origin="preset uvx: mcp-server-fetch"), [], 3).refuse_what_cannot_be()


def test_a_required_protection_is_refused_where_it_is_not_enforced():
    with pytest.raises(Refused, match="signals"):
        plan.Plan(policy("--require signals"), [], 5).refuse_what_cannot_be()
    plan.Plan(policy("--require signals,unix"), [], 6).refuse_what_cannot_be()
    with pytest.raises(Refused, match="no protection is called 'everything'"):
        plan.Plan(policy("--require everything"), [], 11).refuse_what_cannot_be()


def test_every_protection_has_a_state_and_every_state_a_protection():
    for abi in ABIS:
        assert list(states(abi)) and set(states(abi)) == {name for name, _ in plan.PROTECTIONS}
