"""What ports, links and slots carry at most, by the arithmetic of their frames; and that nothing beyond is believed."""

from __future__ import annotations

from math import inf, nan

import pytest

from checks.block.references import lesser
from checks.ceiling import Ceiling, beyond, narrowest, over_roce, over_tcp, payload_rate, through_slots
from checks.phrase import Phrase, say

G = 10**9
PORT = over_roce(say("the port"), 100 * G)


def test_a_port_carries_its_rate_less_frames() -> None:
    assert PORT.payload() == pytest.approx(12.5 * G * 4096 / 4178)
    assert payload_rate(100 * G, 1024) == pytest.approx(12.5 * G * 1024 / 1106)
    assert over_tcp(say("p"), 100 * G, 9000).payload() == pytest.approx(12.5 * G * 8960 / 9038)
    assert PORT.times(2).payload() == 2 * PORT.payload()


def test_small_requests_cost_a_completion_each() -> None:
    assert PORT.payload(4096) == pytest.approx(12.5 * G * 4096 / (4096 + 82 + 98))
    assert PORT.payload(2**20) == pytest.approx(PORT.payload(), rel=1e-3)
    assert over_tcp(say("p"), 100 * G, 9000).payload(4096) == over_tcp(say("p"), 100 * G, 9000).payload()


@pytest.mark.parametrize(("slot", "rate"), [((4, 4), 7.877), ((3, 4), 3.938), ((1, 1), 0.25), ((5, 16), 63.015)])
def test_a_slot_carries_what_its_lanes_do(slot: tuple[int, int], rate: float) -> None:
    assert through_slots(say("slots"), [slot]).payload(4096) / G == pytest.approx(rate, abs=0.001)
    assert through_slots(say("slots"), [slot] * 4).payload() / G == pytest.approx(4 * rate, abs=0.004)


def test_the_narrowest_part_counts() -> None:
    slow = through_slots(say("the slot"), [(3, 4)])
    assert narrowest([PORT, slow]) is slow


@pytest.mark.parametrize(
    ("rates", "told"),
    [((12.25 * G, 12.37 * G), True), ((12.25 * G, 12.38 * G), False), ((), True), ((nan,), False), ((inf,), False)],
)
def test_one_rate_beyond_is_enough(rates: tuple[float, ...], told: bool) -> None:
    assert (beyond(rates, PORT) is None) is told


def test_a_carrier_that_nobody_declared_is_asked_for() -> None:
    assert beyond((1.0,), say("declare it")) == say("declare it")


def test_the_reference_is_the_least_of_what_was_promised_and_can_be_carried() -> None:
    sheets, alone, lacking = say("sheets"), say("by itself"), say("declare one")

    def least(**promises: float | None) -> tuple[float, str] | str:
        found = lesser({say(name): rate for name, rate in promises.items()}, PORT, 4096, lacking)
        return str(found) if isinstance(found, Phrase) else (found.rate, str(found.what))

    assert least(sheets=9.0 * G, alone=None) == (9.0 * G, "sheets")
    assert least(sheets=9.0 * G, alone=8.0 * G) == (8.0 * G, "alone")
    assert least(sheets=27.0 * G, alone=None) == (PORT.payload(4096), "the port")
    assert least(sheets=None, alone=None) == "declare one"
    assert lesser({sheets: G, alone: None}, say("declare the port"), 0, lacking) == say("declare the port")
    assert lesser({sheets: G}, Ceiling(say("any"), inf), 0, lacking) != lacking
