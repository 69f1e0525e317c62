"""Criteria of cards: at the bound, one step to either side, with the fact missing; and the traps of real machines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.accelerator import criteria
from checks.accelerator.facts import Card, Cards, Release
from checks.accelerator.pci import Bus, Function
from checks.phrase import say
from checks.probe import Interval
from checks.verdict import Outcome, Verdict

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
GOOD = Card(
    "GPU 0", "0000:0c:00.0", model="AMD Instinct MI308X", driver="6.12.12", firmware="00147231",
    firmware_part="113-M3080101-100", memory=196592 * 2**20, memory_used=283 * 2**20, ecc="ENABLED",
    uncorrectable=(("uncorrectable", 0), ("deferred", 0)), correctable=(("correctable", 0),), bad_pages=(("retired", 0),),
    lanes=16, speed=32, capable_speed=32, link_errors=(("replays", 0),), temperatures=(("hotspot", 60.0), ("memory", None)),
    thermal=(("socket", 18010),), health="OK", compatibility="OK", compute_partition="SPX", memory_partition="NPS1",
)  # fmt: skip


def two(**changes: object) -> Cards:
    """A good card and one that differs."""
    return Cards((GOOD, replace(GOOD, **({"name": "GPU 1", "bdf": "0000:22:00.0"} | changes))))  # type: ignore[arg-type]


def later(**changes: object) -> Interval[Cards]:
    return Interval(two(), two(**changes), 5.0)


def function(bdf: str, kind: str = "1200", device: str = "74a2", driver: str | None = "amdgpu") -> Function:
    return Function(bdf, "1002", device, kind, driver, 16, 32.0, 32.0)


BUS = Bus((function("0000:0c:00.0"), function("0000:22:00.0"), function("0000:00:01.1", "0604", "14ab", None)))


@pytest.mark.parametrize(
    ("cards", "bus", "outcome"),
    [
        (two(), BUS, PASS),
        (Cards((GOOD,)), BUS, STOP),  # the driver dropped one that is on the bus
        (Cards((GOOD,)), Bus(BUS.functions[:1]), STOP),  # one is not there at all
        (two(), Bus((*BUS.functions, function("0000:38:00.0", driver=None))), STOP),  # a third one without driver
        (two(), Bus((*BUS.functions, function("0000:38:00.0", "0300", "164e"))), PASS),  # graphics of the processor
        (two(), Bus((*BUS.functions, function("0000:38:00.0", "0300", "74a2"))), STOP),
        (two(bdf=None), BUS, UNDECIDED),
        (two(), Bus(()), UNDECIDED),
        (Cards(()), Bus(()), STOP),
    ],
)
def test_all_there(cards: Cards, bus: Bus, outcome: Outcome) -> None:
    assert criteria.all_there(cards, bus, 2, "rocm").outcome is outcome


def test_a_dropped_card_is_named_with_its_address() -> None:
    assert "0000:22:00.0" in str(criteria.all_there(Cards((GOOD,)), BUS, 2, "rocm").note)


@pytest.mark.parametrize(
    ("found", "ordered", "same"),
    [
        ("NVIDIA H200", "H200", True), ("NVIDIA H200 NVL", "H200", False), ("NVIDIA H20", "H200", False),
        ("AMD Instinct MI308X", "MI308X", True), ("AMD Instinct MI300X", "MI308X", False),
        ("AMD Instinct MI308X OAM", "MI308X", True), ("Arcturus GL-XL [Instinct MI100]", "MI100", True),
        ("910B3", "910B", True), ("Ascend910B3", "Ascend 910B3", True), ("910B3", "910B2", False), ("910A", "910B", False),
        ("Ascend910", "910", True), ("NVIDIA A100-SXM4-80GB", "A100", False), ("NVIDIA", "H200", False),
    ],
)  # fmt: skip
def test_same_model(found: str, ordered: str, same: bool) -> None:
    assert criteria.same_model(found, ordered) is same


@pytest.mark.parametrize(
    ("found", "ordered", "outcome"),
    [
        ("7.2.0", "7.2.0", PASS), ("7.2.0-43", "7.2.0", PASS), ("7.2.0", "7.2", PASS), ("7.20.0", "7.2", STOP),
        ("7.1.9", "7.2", STOP), ("8.0.RC3", "8.0", STOP), ("8.0.RC3", "8.0.RC3", PASS), (None, "7.2", UNDECIDED),
    ],
)  # fmt: skip
def test_on_release(found: str | None, ordered: str, outcome: Outcome) -> None:
    assert criteria.on_release(Release(found), ordered).outcome is outcome


def judged(name: str, cards: Cards) -> Verdict:
    """Every criterion on cards, with the terms of the agreement."""
    rules = {
        "model": lambda: criteria.of_model(cards, "MI308X", 2),
        "driver": lambda: criteria.on_driver(cards, "6.12.12", 2),
        "one firmware": lambda: criteria.of_one_firmware(cards, 2),
        "firmware": lambda: criteria.on_firmware(cards, "00147231", 2),
        "part": lambda: criteria.on_firmware(cards, "113-M3080101-100", 2),
        "memory": lambda: criteria.of_memory(cards, 192 * 10**9, 2, 97, 110),
        "ecc": lambda: criteria.ecc_on(cards, 2),
        "uncorrectable": lambda: criteria.no_uncorrectable(cards, 2),
        "pages": lambda: criteria.no_bad_pages(cards, 2),
        "lanes": lambda: criteria.at_full_width(cards, 16, 2),
        "speed": lambda: criteria.capable_of_speed(cards, 5, 2),
        "cool": lambda: criteria.cool(cards, 2, 60),
        "health": lambda: criteria.healthy(cards, 2, ("OK",), ("Warning", "Alarm", "Critical")),
        "compatible": lambda: criteria.compatible(cards, 2, ("OK",), ("NOK",)),
        "free": lambda: criteria.free(cards, 2, 5),
        "partition": lambda: criteria.partitioned(cards, "SPX", "NPS1", 2),
    }
    return rules[name]()


RULES = (
    "model", "driver", "one firmware", "firmware", "part", "memory", "ecc", "uncorrectable", "pages", "lanes", "speed", "cool",
    "health", "compatible", "free", "partition",
)  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_good_cards_pass_every_rule(rule: str) -> None:
    assert judged(rule, two()).outcome is PASS


@pytest.mark.parametrize("rule", RULES)
def test_a_missing_card_is_never_passed_over(rule: str) -> None:
    assert judged(rule, Cards((GOOD,))).outcome is UNDECIDED
    assert judged(rule, Cards(())).outcome is UNDECIDED


@pytest.mark.parametrize("rule", RULES)
def test_a_card_that_tells_nothing_is_undecided(rule: str) -> None:
    verdict = judged(rule, Cards((GOOD, Card("GPU 1"))))
    assert verdict.outcome is UNDECIDED
    assert "GPU 1" in str(verdict.note)


@pytest.mark.parametrize(
    ("rule", "changes", "outcome"),
    [
        ("model", {"model": "AMD Instinct MI300X"}, STOP),
        ("driver", {"driver": "6.12.12-1"}, STOP),
        ("one firmware", {"firmware": "00139110"}, STOP),
        ("firmware", {"firmware": "00139110"}, STOP),
        ("part", {"firmware": None}, PASS),
        ("firmware", {"firmware": None}, UNDECIDED),
        ("memory", {"memory": 192 * 10**9 * 97 // 100}, PASS),
        ("memory", {"memory": 192 * 10**9 * 97 // 100 - 1}, STOP),
        ("memory", {"memory": 192 * 10**9 * 110 // 100}, PASS),
        ("memory", {"memory": 192 * 10**9 * 110 // 100 + 1}, STOP),
        ("ecc", {"ecc": "DISABLED"}, STOP),
        ("ecc", {"ecc": "Parity"}, UNDECIDED),
        ("uncorrectable", {"uncorrectable": (("uncorrectable", 1), ("deferred", 0))}, STOP),
        ("uncorrectable", {"uncorrectable": (("uncorrectable", 1), ("deferred", None))}, STOP),
        ("uncorrectable", {"uncorrectable": (("uncorrectable", 0), ("deferred", None))}, UNDECIDED),
        ("pages", {"bad_pages": (("retired", 1),)}, STOP),
        ("lanes", {"lanes": 8}, STOP),
        ("lanes", {"lanes": 1}, STOP),
        ("speed", {"speed": 2.5}, PASS),  # an idle card lowers its speed
        ("speed", {"speed": 2.5, "capable_speed": 16}, STOP),
        ("speed", {"speed": 2.5, "capable_speed": None}, UNDECIDED),
        ("speed", {"speed": 32, "capable_speed": None}, PASS),
        ("speed", {"speed": 64, "capable_speed": 64}, PASS),
        ("speed", {"speed": 32000, "capable_speed": None}, UNDECIDED),
        ("cool", {"temperatures": (("hotspot", 60.5),)}, STOP),
        ("cool", {"temperatures": (("hotspot", 40.0), ("memory", 61.0))}, STOP),
        ("cool", {"temperatures": (("hotspot", None),)}, UNDECIDED),
        ("health", {"health": "Alarm"}, STOP),
        ("health", {"health": "UNKNOWN"}, UNDECIDED),
        ("compatible", {"compatibility": "NOK"}, STOP),
        ("compatible", {"compatibility": "maybe"}, UNDECIDED),
        ("free", {"memory": 100 * 2**30, "memory_used": 5 * 2**30}, PASS),
        ("free", {"memory": 100 * 2**30, "memory_used": 5 * 2**30 + 1}, STOP),
        ("free", {"memory": 100 * 2**30, "memory_used": 100 * 2**30}, STOP),
        (
            "free",
            {"memory": 100 * 2**30, "memory_used": 100 * 2**30 + 1},
            UNDECIDED,
        ),  # more than there is: another unit
        ("free", {"memory": 100 * 2**30, "memory_used": -1}, UNDECIDED),
        ("free", {"memory": 0}, UNDECIDED),
        ("partition", {"compute_partition": "CPX"}, STOP),
        ("partition", {"memory_partition": "NPS4"}, STOP),
        ("partition", {"memory_partition": "NPS4", "compute_partition": None}, STOP),
        ("partition", {"memory_partition": None}, UNDECIDED),
    ],
)
def test_each_rule_at_its_bound(rule: str, changes: dict[str, object], outcome: Outcome) -> None:
    assert judged(rule, two(**changes)).outcome is outcome


def test_a_stop_outweighs_a_card_that_does_not_tell() -> None:
    cards = Cards((replace(GOOD, lanes=8), Card("GPU 1")))
    assert criteria.at_full_width(cards, 16, 2).outcome is STOP


@pytest.mark.parametrize(
    ("changes", "allowed", "outcome"),
    [
        ({}, 0, PASS),
        ({"correctable": (("correctable", 10),)}, 10, PASS),
        ({"correctable": (("correctable", 11),)}, 10, STOP),
        ({"correctable": (("correctable", None),)}, 10, UNDECIDED),
        ({"correctable": ()}, 10, UNDECIDED),
        ({"correctable": (("another", 0),)}, 10, UNDECIDED),
        ({"name": "GPU 2"}, 10, UNDECIDED),
    ],
)
def test_few_more(changes: dict[str, object], allowed: int, outcome: Outcome) -> None:
    after = Cards((GOOD, replace(two().cards[1], **changes)))  # type: ignore[arg-type]
    verdict = criteria.few_more(Interval(two(), after, 5.0), 2, say("errors"), "correctable", allowed)
    assert verdict.outcome is outcome


def test_a_counter_that_went_backwards_is_undecided() -> None:
    assert criteria.not_throttled(later(thermal=(("socket", 0),)), 2).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("changes", "outcome"),
    [
        ({}, PASS),  # 18,010 since boot, none new
        ({"thermal": (("socket", 18011),)}, STOP),
        ({"thermal": (("socket", None),)}, UNDECIDED),
        ({"slowed": "hardware thermal slowdown"}, STOP),
        ({"thermal": ()}, UNDECIDED),
    ],
)
def test_not_throttled(changes: dict[str, object], outcome: Outcome) -> None:
    assert criteria.not_throttled(later(**changes), 2).outcome is outcome


def test_a_driver_without_counters_is_judged_by_its_word() -> None:
    cards = Cards(tuple(replace(card, thermal=(), slowed="no") for card in two().cards))
    assert criteria.not_throttled(Interval(cards, cards, 5.0), 2).outcome is PASS
    assert criteria.not_throttled(Interval(cards, cards, 5.0), 3).outcome is UNDECIDED


def test_cards_of_one_driver_tell_all_alike_or_leave_it_undecided() -> None:
    silent = Cards((GOOD, replace(two().cards[1], thermal=(), slowed="no")))
    assert criteria.not_throttled(Interval(silent, silent, 5.0), 2).outcome is UNDECIDED
    wordless = Cards(
        tuple(replace(card, thermal=(), slowed=word) for card, word in zip(two().cards, ("no", None), strict=True))
    )
    assert criteria.not_throttled(Interval(wordless, wordless, 5.0), 2).outcome is UNDECIDED
    nothing = Cards(())
    assert criteria.not_throttled(Interval(nothing, nothing, 5.0), 1).outcome is UNDECIDED


@pytest.mark.parametrize(
    ("sensors", "outcome"),
    [
        ((("hotspot", 60.0),), PASS),
        ((("hotspot", 61.0),), STOP),
        ((("hotspot", 310.0),), UNDECIDED),  # Kelvin
        ((("hotspot", 0.0),), UNDECIDED),  # no sensor
        ((("hotspot", 59.0), ("memory", 65535.0)), UNDECIDED),
        ((("hotspot", 61.0), ("memory", 65535.0)), STOP),
        ((("hotspot", 149.9),), STOP),
        ((("hotspot", 150.0),), UNDECIDED),
    ],
)
def test_a_temperature_that_cannot_be_is_not_told(sensors: tuple[tuple[str, float], ...], outcome: Outcome) -> None:
    assert criteria.cool(two(temperatures=sensors), 2, 60).outcome is outcome


@pytest.mark.parametrize(
    ("memory", "outcome"),
    [(192 * 10**9, PASS), (96 * 10**9, STOP), (196592, UNDECIDED), (196592 * 2**40, UNDECIDED), (None, UNDECIDED)],
)
def test_a_size_in_another_unit_is_not_told(memory: int | None, outcome: Outcome) -> None:
    assert criteria.of_memory(two(memory=memory), 192 * 10**9, 2, 90, 110).outcome is outcome


def test_a_counter_that_ran_weighs_more_than_the_word_of_now() -> None:
    before = Cards(tuple(replace(card, thermal=(("thermal us", 5),), slowed="no") for card in two().cards))
    after = Cards(tuple(replace(card, thermal=(("thermal us", 9),)) for card in before.cards))
    assert criteria.not_throttled(Interval(before, after, 5.0), 2).outcome is STOP
