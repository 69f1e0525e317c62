"""G1.5  The NVMe-oF connections stand as ordered: every path live, timers, queues and namespaces as agreed."""

from __future__ import annotations

import pytest

from checks.fabric import criteria, identity, probes
from checks.fabric.facts import link, same_address
from checks.nvme.probes import controllers
from checks.phrase import say
from checks.verdict import Verdict


@pytest.mark.clause("G1.5.20")
def test_is_connected_to_the_ordered_address(connection, ask, decide):
    found = link(ask(connection.host, controllers()), connection.nqn)
    decide(criteria.connected(found, connection.address, connection.port))


@pytest.mark.clause("G1.5.21")
def test_has_every_ordered_path_live(connection, ask, decide):
    found = link(ask(connection.host, controllers()), connection.nqn)
    decide(criteria.paths_live(found, connection.paths))


@pytest.mark.clause("G1.5.22")
def test_uses_the_ordered_transport(connection, ask, decide):
    found = link(ask(connection.host, controllers()), connection.nqn)
    decide(criteria.transport_is(found, connection.transport))


@pytest.mark.clause("G1.5.23")
def test_has_an_optimized_path_to_every_namespace(connection, ask, decide):
    found = link(ask(connection.host, controllers()), connection.nqn)
    decide(criteria.every_namespace_optimized(found))


@pytest.mark.clause("G1.5.24")
def test_spreads_requests_by_the_ordered_policy(connection, ask, decide):
    found = link(ask(connection.host, controllers()), connection.nqn)
    decide(criteria.iopolicy_is(found, connection.iopolicy))


@pytest.mark.clause("G1.5.25")
def test_has_native_multipath_on(connection, ask, decide):
    decide(criteria.native_multipath_on(ask(connection.host, controllers())))


@pytest.mark.clause("G1.5.26")
def test_gives_up_and_retries_after_the_ordered_times(connection, ask, decide):
    found = link(ask(connection.host, controllers()), connection.nqn)
    decide(
        criteria.timers_are(
            found,
            ctrl_loss=connection.ctrl_loss,
            reconnect_delay=connection.reconnect_delay,
            fast_io_fail=connection.fast_io_fail,
            keep_alive=connection.keep_alive,
        )
    )


@pytest.mark.clause("G1.5.27")
def test_opened_the_ordered_number_of_queues(connection, ask, decide):
    found = link(ask(connection.host, controllers()), connection.nqn)
    decide(criteria.io_queues_are(found, connection.queues))


@pytest.mark.clause("G1.5.28")
def test_shows_every_namespace_with_a_size(connection, ask, decide):
    found = link(ask(connection.host, controllers()), connection.nqn)
    decide(criteria.namespaces_visible(found, connection.namespaces))


@pytest.mark.clause("G1.5.29")
def test_no_two_hosts_share_an_identity(rack, ask, decide):
    connected = [name for name, host in rack.hosts.items() if host.nvmeof]
    decide(identity.identities_distinct(ask.each(connected, probes.identity())))


@pytest.mark.clause("G1.5.30")
def test_uses_the_identity_of_its_files(connection, ask, decide):
    tree, host = ask.all(connection.host, controllers(), probes.identity())
    decide(identity.identity_in_use(link(tree, connection.nqn), host))


@pytest.mark.clause("G1.5.31")
def test_is_offered_by_discovery(connection, ask, decide):
    records = ask(connection.host, probes.discover(connection.transport, connection.address, connection.port))
    decide(criteria.discovered(records, connection.nqn, connection.address, connection.port))


@pytest.mark.clause("G1.5.32")
def test_comes_back_after_a_reboot(connection, ask, decide):
    host = ask(connection.host, probes.identity())
    decide(identity.comes_back(host, connection.nqn, connection.address))


@pytest.mark.clause("G1.5.33")
def test_looks_the_same_to_kernel_and_tool(connection, ask, decide):
    tree, subsystems = ask.all(connection.host, controllers(), probes.list_subsystems())
    decide(criteria.tool_agrees(link(tree, connection.nqn), subsystems))


@pytest.mark.clause("G1.5.34")
def test_is_exported_by_the_array_as_ordered(connection, ask, decide):
    owners = [
        name
        for name, host in connection.rack.hosts.items()
        if host.role == "array"
        and any(same_address((nic.address or "").partition("/")[0], connection.address) for nic in host.nics)
    ]
    if len(owners) != 1:
        reason = say("no single array of the inventory has the address {address}", address=connection.address)
        decide(Verdict.undecided(reason))
    else:
        ordered = connection.ordered
        decide(
            identity.exported(
                ask(owners[0], probes.target()),
                ordered.nqn,
                ordered.transport,
                ordered.address,
                ordered.port,
                ordered.namespaces,
            )
        )
