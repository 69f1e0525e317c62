"""The kernel log: what is found stops, what is not found passes only in a log that holds the whole boot."""

from __future__ import annotations

import pytest

from checks.host import facts, log_criteria
from checks.parsers.dmesg import Event, KernelLog, Kind
from checks.verdict import Outcome

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED


Seen = tuple[Kind, str, str]


def event(kind: Kind, device: str = "nvme1", time: str = "5.0") -> Seen:
    return kind, device, time


def log(*seen: Seen, from_boot: bool = True, missed: bool = False) -> KernelLog:
    events: dict[Kind, tuple[Event, ...]] = {}
    for line, (kind, device, time) in enumerate(seen, 1):
        events[kind] = (*events.get(kind, ()), Event(line, device, time, f"{device}: {kind}"))
    return KernelLog(from_boot, missed, "0.0", "9.0", events, ())


@pytest.mark.parametrize(
    ("found", "whole", "outcome"), [(0, True, PASS), (1, True, STOP), (0, False, UNDECIDED), (1, False, STOP)]
)
def test_silence_needs_a_whole_log_and_a_finding_does_not(found: int, whole: bool, outcome: Outcome) -> None:
    read = log(*(event(Kind.NVME_RESET) for _ in range(found)), from_boot=whole)
    assert log_criteria.silent(read, read.of(Kind.NVME_RESET)).outcome is outcome


@pytest.mark.parametrize(("count", "outcome"), [(9, PASS), (10, PASS), (11, STOP)])
def test_as_many_lines_as_agreed(count: int, outcome: Outcome) -> None:
    read = log(*(event(Kind.AER_CORRECTED) for _ in range(count)))
    assert log_criteria.silent(read, read.of(Kind.AER_CORRECTED), allowed=10).outcome is outcome


def test_few_lines_in_a_cut_log_do_not_pass() -> None:
    read = log(event(Kind.AER_CORRECTED), from_boot=False)
    assert log_criteria.silent(read, read.of(Kind.AER_CORRECTED), allowed=10).outcome is UNDECIDED


def test_a_log_with_a_hole_is_not_whole() -> None:
    assert log_criteria.whole(log()).outcome is PASS
    assert log_criteria.whole(log(missed=True)).outcome is STOP
    assert log_criteria.silent(log(missed=True), ()).outcome is UNDECIDED


def test_the_note_names_the_first_line_and_its_time() -> None:
    read = log(event(Kind.NVME_RESET, time="12.5"), event(Kind.NVME_DEAD, "nvme0", time="99.1"))
    verdict = log_criteria.silent(read, facts.driver_troubles(read))
    assert "12.5" in str(verdict.note)
    assert "99.1" in str(verdict.note)
    assert "log lines: 2, about nvme1, nvme0" in str(verdict.measured)


REFUSED, UP, DOWN = event(Kind.FABRIC_REFUSED), event(Kind.FABRIC_CONNECTED), event(Kind.FABRIC_DISCONNECTED)


LOST, BACK = event(Kind.FABRIC_LOST), event(Kind.FABRIC_RECOVERED)


@pytest.mark.parametrize(
    ("events", "found"),
    [
        ((), 0),
        ((UP,), 0),
        ((REFUSED, REFUSED, UP), 0),
        ((REFUSED,), 1),
        ((UP, DOWN, UP), 0),
        ((UP, LOST, BACK), 2),
        ((UP, REFUSED), 1),
        ((UP, DOWN, REFUSED, UP), 0),
        ((REFUSED, event(Kind.FABRIC_CONNECTED, "nvme2")), 1),
        ((LOST, REFUSED, LOST), 3),
        ((UP, DOWN), 0),
    ],
)
def test_refusals_count_only_outside_a_connect_phase(events: tuple[Seen, ...], found: int) -> None:
    assert len(facts.fabric_troubles(log(*events))) == found


@pytest.mark.parametrize(
    ("device", "counts"), [("nvme0n1", True), ("md0", True), ("dm-4", True), ("sr0", False), ("fd0", False)]
)
def test_a_virtual_cd_of_the_board_controller_is_no_data_disk(device: str, counts: bool) -> None:
    assert bool(facts.driver_troubles(log(event(Kind.BLOCK_ERROR, device)))) is counts
