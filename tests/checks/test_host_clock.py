"""Clocks of hosts at the bound, one step below and above, and with the fact missing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.host import clock
from checks.host.clock import spread
from checks.parsers.chronyc_sources import Source, Sources
from checks.parsers.chronyc_tracking import Tracking
from checks.parsers.timedatectl import TimeDate
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
TRACKING = Tracking("C0A86401", 3, -0.00002, 0.0, 0.0, 0.0004, 0.0003, "Normal")


@pytest.mark.parametrize(
    ("found", "outcome"),
    [
        (TRACKING, PASS),
        (replace(TRACKING, offset=0.001), PASS),
        (replace(TRACKING, offset=-0.001001), STOP),
        (replace(TRACKING, leap="Not synchronised", offset=0.0), STOP),
        (replace(TRACKING, stratum=0), STOP),
        (replace(TRACKING, stratum=1), PASS),  # a clock of its own: GPS, PTP
        (replace(TRACKING, stratum=10), PASS),
        (replace(TRACKING, stratum=11), STOP),
        (replace(TRACKING, root_dispersion=0.1), PASS),
        (replace(TRACKING, root_dispersion=0.1001), STOP),
        (
            replace(TRACKING, reference="7F7F0101", stratum=10, offset=0.0, root_dispersion=0.0),
            STOP,
        ),  # local stratum 10
        (TimeDate(server="a", stratum=2, leap="normal", offset=0.0004), PASS),
        (TimeDate(server="a", stratum=2, leap="normal", offset=0.004), STOP),
        (TimeDate(server="a", stratum=2, leap="normal"), UNDECIDED),
        (TimeDate(server="a", stratum=2, leap="not synchronised", offset=0.0), STOP),
        (TimeDate(), STOP),
    ],
)
def test_the_clock_follows_its_source(found: Tracking | TimeDate, outcome: Outcome) -> None:
    assert clock.clock_synchronised(found, 1, 10, 100).outcome is outcome


@pytest.mark.parametrize(("word", "outcome"), [(True, PASS), (False, STOP), (None, UNDECIDED)])
def test_the_kernel_trusts_its_clock(word: bool | None, outcome: Outcome) -> None:
    assert clock.kernel_clock_synchronised(TimeDate(word)).outcome is outcome


@pytest.mark.parametrize(("state", "reach", "outcome"), [("*", 0o377, PASS), ("*", 0o376, STOP), ("+", 0o377, STOP)])
def test_the_source_answers(state: str, reach: int, outcome: Outcome) -> None:
    assert clock.time_source_answers(Sources((Source("^", state, "a", 2, reach),))).outcome is outcome


@pytest.mark.parametrize(
    ("clocks", "outcome"),
    [
        ({"a": (0.0, 0.01), "b": (0.04, 0.05)}, PASS),
        ({"a": (0.0, 0.01), "b": (0.04, 0.051)}, UNDECIDED),
        ({"a": (0.0, 0.01), "b": (0.06, 0.07)}, UNDECIDED),
        ({"a": (0.0, 0.01), "b": (0.061, 0.07)}, STOP),
        ({"a": (-5.0, 5.0)}, PASS),
    ],
)
def test_clocks_agree_with_their_uncertainty(clocks: dict[str, tuple[float, float]], outcome: Outcome) -> None:
    assert clock.clocks_agree(spread(clocks), 50).outcome is outcome


@pytest.mark.parametrize(
    "name, wanted", [("127.127.1.0", STOP), ("127.0.0.1", STOP), ("10.0.0.1", PASS), ("PHC0", PASS)]
)
def test_the_host_s_own_clock_is_no_source(name: str, wanted: Outcome) -> None:
    assert clock.time_source_answers(Sources((Source("^", "*", name, 2, 0o377),))).outcome is wanted
