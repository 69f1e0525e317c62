"""PCI Express links at the bound, one step below, one above, and with the fact missing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from checks.parsers import lspci
from checks.parsers.sysfs_pci import PciDevice
from checks.pcie import criteria
from checks.probe import Interval
from checks.verdict import Outcome

LINK = PciDevice("0000:41:00.0", "0x010802", "0x144d", "0xa80a", 16.0, 4, 16.0, 4, 0, 5, 0, 0)
PASS, STOP, UNDECIDED = Outcome
SAMPLES = Path(__file__).parents[1] / "parsers" / "lspci"


@pytest.mark.parametrize("speed, wanted", [(16.0, PASS), (32.0, PASS), (8.0, STOP), (2.5, STOP), (None, UNDECIDED)])
def test_speed(speed: float | None, wanted: Outcome) -> None:
    assert criteria.trained_speed(replace(LINK, current_gts=speed), 4).outcome is wanted


def test_a_device_that_cannot_do_more_is_named() -> None:
    verdict = criteria.trained_speed(replace(LINK, current_gts=8.0, max_gts=8.0), 4)
    assert verdict.outcome is STOP
    assert "8.0 GT/s only" in str(verdict.note)


@pytest.mark.parametrize("lanes, wanted", [(4, PASS), (2, STOP), (1, STOP), (8, STOP), (None, UNDECIDED)])
def test_lanes(lanes: int | None, wanted: Outcome) -> None:
    assert criteria.trained_lanes(replace(LINK, current_lanes=lanes), 4).outcome is wanted


def test_a_device_that_is_gone_is_undecided() -> None:
    gone = Interval(None, LINK, 2.0)
    assert criteria.trained_speed(None, 4).outcome is UNDECIDED
    assert criteria.trained_lanes(None, 4).outcome is UNDECIDED
    assert criteria.no_uncorrected_errors(None, 0).outcome is UNDECIDED
    assert criteria.no_new_corrected_errors(gone, 0).outcome is UNDECIDED


@pytest.mark.parametrize("fatal, nonfatal, wanted", [(0, 0, PASS), (1, 0, STOP), (0, 1, STOP), (None, 0, UNDECIDED)])
def test_uncorrected(fatal: int | None, nonfatal: int | None, wanted: Outcome) -> None:
    link = replace(LINK, aer_fatal=fatal, aer_nonfatal=nonfatal)
    assert criteria.no_uncorrected_errors(link, 0).outcome is wanted


@pytest.mark.parametrize("before, after, wanted", [(5, 5, PASS), (5, 6, STOP), (5, 0, UNDECIDED), (None, 0, UNDECIDED)])
def test_corrected_by_difference_only(before: int | None, after: int, wanted: Outcome) -> None:
    links = Interval(replace(LINK, aer_correctable=before), replace(LINK, aer_correctable=after), 2.0)
    assert criteria.no_new_corrected_errors(links, 0).outcome is wanted


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


def test_only_counters_that_are_all_absent_may_be_declared_instead() -> None:
    none = replace(LINK, aer_fatal=None, aer_nonfatal=None, aer_correctable=None)
    assert criteria.no_uncorrected_errors(none, 0).declarable
    assert criteria.no_new_corrected_errors(Interval(none, none, 2.0), 0).declarable
    assert not criteria.no_uncorrected_errors(replace(LINK, aer_fatal=None), 0).declarable
    assert not criteria.no_new_corrected_errors(Interval(none, LINK, 2.0), 0).declarable
    assert not criteria.no_uncorrected_errors(None, 0).declarable
