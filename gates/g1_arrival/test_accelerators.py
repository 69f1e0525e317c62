"""G1.6  The accelerators that arrived are the accelerators that were ordered, whole, cool and free."""

from __future__ import annotations

import pytest

from checks.accelerator import criteria, paths, probes
from checks.roce.probes import npu_ports


def _asked(ask, accelerators, aspect):
    """Ask what this platform must be asked for one aspect and join the answers to cards."""
    question = getattr(probes.PLATFORMS[accelerators.platform], aspect)
    if len(question.probes) == 1:
        return ask(accelerators.host, question.probes[0], otherwise=question.otherwise)
    first, *others = ask.all(accelerators.host, *question.probes)
    return first.joined(*others)


def _twice(ask, accelerators, aspect):
    question = getattr(probes.PLATFORMS[accelerators.platform], aspect)
    return ask.twice(accelerators.host, question.probes[0])


@pytest.mark.clause("G1.6.1")
def test_all_cards_are_there(accelerators, ask, decide):
    identity = probes.PLATFORMS[accelerators.platform].identity
    cards, bus = ask.all(accelerators.host, identity.probes[0], probes.BUS)
    decide(criteria.all_there(cards, bus, accelerators.count, accelerators.platform))


@pytest.mark.clause("G1.6.2")
def test_are_of_the_model_ordered(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "identity")
    decide(criteria.of_model(cards, accelerators.model, accelerators.count))


@pytest.mark.clause("G1.6.3")
def test_run_on_the_driver_ordered(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "identity")
    decide(criteria.on_driver(cards, accelerators.driver, accelerators.count))


@pytest.mark.clause("G1.6.4")
def test_find_the_runtime_ordered(accelerators, ask, decide):
    platform = probes.PLATFORMS[accelerators.platform]
    release = ask(accelerators.host, platform.runtime, otherwise=platform.runtime_otherwise)
    decide(criteria.on_release(release, accelerators.runtime))


@pytest.mark.clause("G1.6.5")
def test_carry_one_firmware(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "firmware")
    decide(criteria.of_one_firmware(cards, accelerators.count))


@pytest.mark.clause("G1.6.6")
def test_carry_the_firmware_ordered(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "firmware")
    decide(criteria.on_firmware(cards, accelerators.firmware, accelerators.count))


@pytest.mark.clause("G1.6.7")
def test_have_the_memory_ordered(accelerators, ask, terms, decide):
    cards = _asked(ask, accelerators, "memory")
    decide(criteria.of_memory(cards, accelerators.memory, accelerators.count, terms["least"], terms["most"]))


@pytest.mark.clause("G1.6.8")
def test_correct_memory_errors(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "ecc_mode")
    decide(criteria.ecc_on(cards, accelerators.count))


@pytest.mark.clause("G1.6.9")
def test_have_no_uncorrectable_errors(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "ecc_errors")
    decide(criteria.no_uncorrectable(cards, accelerators.count))


@pytest.mark.clause("G1.6.10")
def test_count_few_corrected_errors(accelerators, ask, terms, decide):
    interval = _twice(ask, accelerators, "ecc_errors")
    decide(criteria.corrects_little(interval, accelerators.count, terms["correctable"]))


@pytest.mark.clause("G1.6.11")
def test_have_no_bad_memory(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "bad_pages")
    decide(criteria.no_bad_pages(cards, accelerators.count))


@pytest.mark.clause("G1.6.12")
def test_train_to_the_lanes_ordered(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "link")
    decide(criteria.at_full_width(cards, accelerators.pcie.lanes, accelerators.count))


@pytest.mark.clause("G1.6.13")
def test_can_run_their_link_at_the_speed_ordered(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "link")
    decide(criteria.capable_of_speed(cards, accelerators.pcie.gen, accelerators.count))


@pytest.mark.clause("G1.6.14")
def test_repeat_nothing_on_their_link(accelerators, ask, terms, decide):
    interval = _twice(ask, accelerators, "link_errors")
    decide(criteria.link_steady(interval, accelerators.count, terms["errors"]))


@pytest.mark.clause("G1.6.15")
def test_are_cool_while_idle(accelerators, ask, terms, decide):
    cards = _asked(ask, accelerators, "temperature")
    decide(criteria.cool(cards, accelerators.count, terms["temperature"]))


@pytest.mark.clause("G1.6.16")
def test_are_not_slowed_by_heat(accelerators, ask, decide):
    interval = _twice(ask, accelerators, "throttle")
    decide(criteria.not_throttled(interval, accelerators.count))


@pytest.mark.clause("G1.6.17")
def test_call_themselves_healthy(accelerators, ask, terms, decide):
    cards = _asked(ask, accelerators, "health")
    decide(criteria.healthy(cards, accelerators.count, terms["good"], terms["bad"]))


@pytest.mark.clause("G1.6.18")
def test_have_driver_and_firmware_that_fit(accelerators, ask, terms, decide):
    cards = _asked(ask, accelerators, "firmware")
    decide(criteria.compatible(cards, accelerators.count, terms["good"], terms["bad"]))


@pytest.mark.clause("G1.6.19")
def test_are_free_before_tests(accelerators, ask, terms, decide):
    cards = _asked(ask, accelerators, "memory")
    decide(criteria.free(cards, accelerators.count, terms[f"used_{accelerators.platform}"]))


@pytest.mark.clause("G1.6.20")
def test_are_partitioned_as_ordered(accelerators, ask, decide):
    cards = _asked(ask, accelerators, "partition")
    wanted = (accelerators.compute_partition, accelerators.memory_partition)
    decide(criteria.partitioned(cards, *wanted, accelerators.count))


@pytest.mark.clause("G1.6.21")
def test_have_joined_their_fabric(accelerators, ask, decide):
    fabric = probes.PLATFORMS[accelerators.platform].fabric
    cards, manager = ask.all(accelerators.host, fabric.probes[0], probes.FABRIC_MANAGER)
    decide(paths.fabric_up(cards, manager, accelerators.count))


@pytest.mark.clause("G1.6.22")
def test_can_be_read_by_the_network_adapter(accelerators, ask, decide):
    ways = ask(accelerators.host, probes.PEER_MEMORY)
    decide(paths.reachable_by_adapter(ways, accelerators.platform))


@pytest.mark.clause("G1.6.23")
def test_are_reached_by_gds_over_fabrics(accelerators, ask, decide):
    check = ask(accelerators.host, probes.GDS, otherwise=probes.GDS_OTHERWISE)
    decide(paths.gds_over_fabrics(check))


@pytest.mark.clause("G1.6.24")
def test_are_never_served_by_copies(accelerators, ask, decide):
    check = ask(accelerators.host, probes.GDS, otherwise=probes.GDS_OTHERWISE)
    decide(paths.gds_never_copies(check))


@pytest.mark.clause("G1.6.25")
def test_have_their_ports_up(accelerators, ask, decide):
    replies = ask(accelerators.host, npu_ports(range(accelerators.count)))
    decide(paths.ports_up(replies, accelerators.count))


@pytest.mark.clause("G1.6.26")
def test_reach_their_network(accelerators, ask, terms, decide):
    replies = ask(accelerators.host, npu_ports(range(accelerators.count)))
    decide(paths.ports_healthy(replies, accelerators.count, terms["good"], terms["bad"]))


@pytest.mark.clause("G1.6.28")
def test_ask_for_no_recovery(accelerators, ask, terms, decide):
    cards = _asked(ask, accelerators, "health")
    decide(criteria.healthy(cards, accelerators.count, terms["good"], terms["bad"]))


@pytest.mark.clause("G1.6.27")
def test_nodes_are_alike(rack, ask, decide):
    hosts = {name: host.accelerators for name, host in rack.hosts.items() if host.accelerators is not None}
    told = {}
    for platform in sorted({cards.platform for cards in hosts.values()}):
        same = [name for name, cards in hosts.items() if cards.platform == platform]
        asked = probes.PLATFORMS[platform]
        distinct = dict.fromkeys((*asked.identity.probes, *asked.firmware.probes))  # one tool may answer both
        told[platform] = [ask.each(same, probe) for probe in distinct]
    decide(paths.all_alike({platform: paths.joined(answers) for platform, answers in told.items()}))
