"""Light, temperature and flags of a module: by its own limits, lane by lane."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.nic import facts, optics
from checks.parsers import ethtool_m
from checks.parsers.ethtool_m import Lane, Limits, Module
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
SAMPLES = Path(__file__).parents[1] / "parsers" / "ethtool-m"


def sample(case: str) -> Module:
    return ethtool_m.parse((SAMPLES / f"{case}.txt").read_text())


SR4 = sample("qsfp28-text--sr4-healthy")


def with_lane(number: int, **change: object) -> Module:
    lanes = [replace(lane, **change) if lane.number == number else lane for lane in SR4.lanes]  # type: ignore[arg-type]
    return replace(SR4, lanes=tuple(lanes))


def with_limits(**change: Limits | None) -> Module:
    return replace(SR4, thresholds=replace(SR4.thresholds, **change))


@pytest.mark.parametrize(
    ("power", "outcome"), [(-10.30, PASS), (-10.31, STOP), (2.40, PASS), (2.41, STOP), (None, UNDECIDED)]
)
def test_received_power_lies_between_the_warning_limits(power: float | None, outcome: Outcome) -> None:
    assert optics.levels_within(with_lane(3, rx_dbm=power), 2.0).outcome is outcome


@pytest.mark.parametrize(("power", "outcome"), [(-8.40, PASS), (-8.41, STOP), (2.41, STOP), (None, UNDECIDED)])
def test_sent_power_lies_between_the_warning_limits(power: float | None, outcome: Outcome) -> None:
    assert optics.levels_within(with_lane(1, tx_dbm=power), 2.0).outcome is outcome


@pytest.mark.parametrize(("power", "outcome"), [(-9.00, PASS), (-9.01, STOP)])
def test_room_above_the_low_alarm_is_asked_where_the_warning_is_too_near(power: float, outcome: Outcome) -> None:
    near = with_limits(rx=Limits(5.4, 2.4, -10.5, -11.0))
    lanes = tuple(replace(lane, rx_dbm=power) for lane in near.lanes)
    assert optics.levels_within(replace(near, lanes=lanes), 2.0).outcome is outcome


def test_bias_outside_its_limits_stops() -> None:
    assert optics.levels_within(with_lane(2, bias_ma=5.9), 2.0).outcome is STOP
    assert optics.levels_within(with_lane(2, bias_ma=None), 2.0).outcome is PASS


def test_one_dark_lane_of_four_stops_even_without_limits() -> None:
    dark = with_lane(4, rx_dbm=None, rx_dark=True)
    assert optics.levels_within(dark, 2.0).outcome is STOP
    assert optics.levels_within(replace(dark, thresholds=replace(dark.thresholds, rx=None)), 2.0).outcome is STOP
    assert optics.levels_within(sample("qsfp28-text--one-lane-dark"), 2.0).outcome is STOP


def test_a_lane_that_is_not_told_is_not_passed_over() -> None:
    assert optics.levels_within(replace(SR4, lanes=SR4.lanes[:3]), 2.0).outcome is UNDECIDED
    assert optics.levels_within(replace(SR4, lanes=()), 2.0).outcome is UNDECIDED
    assert optics.levels_within(sample("qsfp28-text--no-diagnostics"), 2.0).outcome is UNDECIDED


@pytest.mark.parametrize(
    "limits",
    [None, Limits(0.0, 0.0, 0.0, 0.0), Limits(-0.85, -0.85, -0.85, -0.85), Limits(1.0, 3.29, 3.12, 0.14)],
)
def test_limits_that_were_not_read_decide_nothing(limits: Limits | None) -> None:
    assert optics.levels_within(with_limits(rx=limits), 2.0).outcome is UNDECIDED
    assert optics.cool(with_limits(temperature=limits), 5.0).outcome is UNDECIDED


def test_the_three_unused_lanes_of_a_single_wavelength_module_may_be_dark() -> None:
    lit, *others = SR4.lanes
    dark = tuple(Lane(lane.number, 0.0, None, None, tx_dark=True, rx_dark=True) for lane in others)
    module = replace(SR4, types=("100G Ethernet: 100G Base-DR",), lanes=(lit, *dark))
    assert facts.optical_lanes(module) == 1
    assert optics.levels_within(module, 2.0).outcome is PASS
    assert optics.levels_within(replace(module, types=("100G Ethernet: 100G Base-LR4",)), 2.0).outcome is STOP
    assert optics.levels_within(replace(module, types=("(reserved or unknown)",)), 2.0).outcome is UNDECIDED


def test_of_an_unknown_type_every_lane_shown_is_judged() -> None:
    unknown = replace(SR4, types=("(reserved or unknown)",))
    assert optics.levels_within(unknown, 2.0).outcome is PASS
    one_way = replace(with_lane(2, rx_dbm=None, rx_dark=True), types=unknown.types)
    assert optics.levels_within(one_way, 2.0).outcome is STOP
    dark = tuple(replace(lane, rx_dark=True, tx_dark=True, rx_dbm=None, tx_dbm=None) for lane in SR4.lanes)
    assert optics.levels_within(replace(unknown, lanes=dark), 2.0).outcome is STOP
    assert optics.levels_within(replace(unknown, lanes=()), 2.0).outcome is UNDECIDED


def test_a_single_lane_module_is_judged_by_its_own_limits() -> None:
    assert optics.levels_within(sample("sfp-text--rx-power-low-but-no-alarm"), 2.0).outcome is PASS
    assert optics.levels_within(sample("sfp-text--rx-power-low-but-no-alarm"), 7.0).outcome is STOP
    assert optics.levels_within(sample("sfp-text--active-optics"), 2.0).outcome is STOP


@pytest.mark.parametrize("case", ["sfp-text--passive-copper-dac", "qsfp28-text--passive-copper"])
def test_copper_where_an_optic_was_ordered_stops(case: str) -> None:
    module = sample(case)
    assert facts.copper(module)
    assert optics.levels_within(module, 2.0).outcome is STOP
    assert optics.cool(module, 5.0).outcome is STOP
    assert optics.no_flags(module).outcome is STOP


def test_an_active_optical_cable_is_no_copper() -> None:
    assert not facts.copper(replace(SR4, connector="0x23 (No separable connector)"))
    assert not facts.copper(SR4)


@pytest.mark.parametrize(("value", "outcome"), [(64.99, PASS), (65.0, STOP), (65.01, STOP), (None, UNDECIDED)])
def test_the_module_stays_below_its_warning_by_the_margin(value: float | None, outcome: Outcome) -> None:
    assert optics.cool(replace(SR4, temperature_c=value), 5.0).outcome is outcome


@pytest.mark.parametrize(
    ("flags", "raised", "outcome"),
    [
        (True, (), PASS),
        (True, ("Module voltage high warning",), STOP),
        (False, ("Rx loss of signal",), STOP),
        (False, (), UNDECIDED),
        (None, (), UNDECIDED),
    ],
)
def test_no_flag_is_raised(flags: bool | None, raised: tuple[str, ...], outcome: Outcome) -> None:
    assert optics.no_flags(replace(SR4, flags=flags, raised=raised)).outcome is outcome


def test_what_a_module_does_not_keep_may_be_declared_and_what_was_read_badly_may_not() -> None:
    bad = Limits(0.0, 0.0, 0.0, 0.0)
    assert optics.levels_within(replace(SR4, lanes=()), 2.0).declarable
    assert optics.levels_within(with_limits(rx=None), 2.0).declarable
    assert optics.cool(with_limits(temperature=None), 5.0).declarable
    assert optics.no_flags(replace(SR4, flags=None, raised=())).declarable
    assert not optics.levels_within(replace(SR4, lanes=SR4.lanes[:3]), 2.0).declarable
    assert not optics.levels_within(with_limits(rx=bad), 2.0).declarable
    assert not optics.cool(with_limits(temperature=bad), 5.0).declarable
