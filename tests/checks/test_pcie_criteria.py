"""PCI Express links at the bound, one step below, one above, and with the fact missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.parsers import lspci
from checks.parsers.sysfs_aer import AerService
from checks.parsers.sysfs_nvme import Endpoint
from checks.parsers.sysfs_pci import PciDevice
from checks.pcie import criteria
from checks.probe import Interval
from checks.verdict import Outcome

LINK = PciDevice("0000:41:00.0", "0x010802", "0x144d", "0xa80a", 16.0, 4, 16.0, 4, 0, 5, 0, 0)
ENDS = Endpoint(16.0, 4, 16.0, 4, 0, 5, 0, 0, 7, 0, 0)
COUNTING = AerService("6.8.0", ("0000:40:01.1",))
NOBODY = AerService("6.8.0", ())
PASS, STOP, UNDECIDED = Outcome
SAMPLES = Path(__file__).parents[1] / "parsers" / "lspci"


@pytest.mark.parametrize("speed, wanted", [(16.0, PASS), (32.0, PASS), (8.0, STOP), (2.5, STOP), (None, UNDECIDED)])
def test_speed(speed: float | None, wanted: Outcome) -> None:
    assert criteria.trained_speed(replace(LINK, current_gts=speed), 4).outcome is wanted


def test_a_device_that_cannot_do_more_is_named() -> None:
    verdict = criteria.trained_speed(replace(LINK, current_gts=8.0, max_gts=8.0), 4)
    assert verdict.outcome is STOP
    assert "8 GT/s only" in str(verdict.note)


@pytest.mark.parametrize("lanes, wanted", [(4, PASS), (2, STOP), (1, STOP), (8, STOP), (None, UNDECIDED)])
def test_lanes(lanes: int | None, wanted: Outcome) -> None:
    assert criteria.trained_lanes(replace(LINK, current_lanes=lanes), 4).outcome is wanted


def test_a_device_that_is_gone_is_undecided() -> None:
    gone = Interval(None, ENDS, 2.0)
    assert criteria.trained_speed(None, 4).outcome is UNDECIDED
    assert criteria.trained_lanes(None, 4).outcome is UNDECIDED
    assert criteria.no_uncorrected_errors(None, COUNTING, 0).outcome is UNDECIDED
    assert criteria.no_new_corrected_errors(gone, COUNTING, 0).outcome is UNDECIDED


@pytest.mark.parametrize(
    "fatal, nonfatal, wanted", [(0, 0, PASS), (1, 0, STOP), (0, 1, STOP), (None, 0, UNDECIDED), (None, 1, STOP)]
)
def test_uncorrected(fatal: int | None, nonfatal: int | None, wanted: Outcome) -> None:
    for link in (
        replace(ENDS, aer_fatal=fatal, aer_nonfatal=nonfatal),
        replace(ENDS, port_fatal=fatal, port_nonfatal=nonfatal),
    ):
        assert criteria.no_uncorrected_errors(link, COUNTING, 0).outcome is wanted


def test_zero_is_no_answer_where_nobody_counts() -> None:
    still = Interval(ENDS, ENDS, 2.0)
    for verdict in (
        criteria.no_uncorrected_errors(ENDS, NOBODY, 0),
        criteria.no_new_corrected_errors(still, NOBODY, 0),
    ):
        assert verdict.outcome is UNDECIDED
        assert verdict.declarable
    rose = Interval(ENDS, replace(ENDS, aer_correctable=6), 2.0)
    assert criteria.no_uncorrected_errors(replace(ENDS, aer_fatal=1), NOBODY, 0).outcome is STOP
    assert criteria.no_new_corrected_errors(rose, NOBODY, 0).outcome is STOP


def test_what_the_device_sends_badly_is_counted_by_the_port_above() -> None:
    rose = Interval(ENDS, replace(ENDS, port_correctable=8), 2.0)
    assert criteria.no_new_corrected_errors(rose, COUNTING, 0).outcome is STOP
    assert criteria.no_new_corrected_errors(rose, COUNTING, 1).outcome is PASS
    silent = Interval(ENDS, replace(ENDS, port_correctable=None), 2.0)
    assert criteria.no_new_corrected_errors(silent, COUNTING, 0).outcome is UNDECIDED


@pytest.mark.parametrize("before, after, wanted", [(5, 5, PASS), (5, 6, STOP), (5, 0, UNDECIDED), (None, 0, UNDECIDED)])
def test_corrected_by_difference_only(before: int | None, after: int, wanted: Outcome) -> None:
    links = Interval(replace(ENDS, aer_correctable=before), replace(ENDS, aer_correctable=after), 2.0)
    assert criteria.no_new_corrected_errors(links, COUNTING, 0).outcome is wanted


@pytest.mark.parametrize("least, read, wanted", [(256, 4096, PASS), (512, 512, STOP), (256, 8192, STOP)])
def test_payload(least: int, read: int, wanted: Outcome) -> None:
    endpoints = lspci.parse((SAMPLES / "3.7-vvv-text--nvme-healthy-gen4x4.txt").read_text())
    assert criteria.payload(endpoints, "18:00.0", least, read).outcome is wanted
    assert criteria.payload(endpoints, None, least, read).outcome is UNDECIDED
    assert criteria.payload(endpoints, "19:00.0", least, read).outcome is UNDECIDED


@pytest.mark.parametrize("node, wanted", [(0, PASS), (1, STOP), (None, UNDECIDED)])
def test_numa(node: int | None, wanted: Outcome) -> None:
    assert criteria.same_node(LINK, [LINK, replace(LINK, numa_node=node)]).outcome is wanted
    assert criteria.same_node(LINK, []).outcome is UNDECIDED
