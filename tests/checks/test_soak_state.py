"""What stood at the end of a soak as it did at its begin, and what a soak of few hours cannot tell."""

from __future__ import annotations

from dataclasses import replace

from checks.soak import leaks
from checks.soak.integrity import ends_as_it_began
from checks.verdict import Outcome
from lab.soak.journal import segments
from lab.soak.plan import plan
from tests.gates import soaking

STREAMS = ("nvme",)
AT_FIRST = {
    ("nvme", "nvme0", ""): "present",
    ("nvme", "nvme0", "serial"): "S1",
    ("nvme", "nvme0", "state"): "live",
}


def test_a_controller_whose_serial_the_last_sample_does_not_tell_is_no_other_one_and_not_told() -> None:
    soak = replace(soaking.array(), first=AT_FIRST, final=AT_FIRST)
    assert ends_as_it_began(soak, STREAMS).outcome is Outcome.PASS
    silent = {key: word for key, word in AT_FIRST.items() if key[2] != "serial"}
    for first, final in ((AT_FIRST, silent), (silent, AT_FIRST)):
        found = ends_as_it_began(replace(soak, first=first, final=final), STREAMS)
        assert found.outcome is Outcome.UNDECIDED
        assert "nvme nvme0 serial" in str(found.note)


def test_another_serial_another_state_or_a_controller_that_is_gone_stops_it() -> None:
    soak = replace(soaking.array(), first=AT_FIRST, final=AT_FIRST)
    for final in (
        AT_FIRST | {("nvme", "nvme0", "serial"): "S2"},
        AT_FIRST | {("nvme", "nvme0", "state"): "dead"},
        {("nvme", "nvme1", ""): "present"},
    ):
        assert ends_as_it_began(replace(soak, final=final), STREAMS).outcome is Outcome.STOP


def test_fewer_hours_than_a_trend_needs_are_undecided_whatever_was_agreed() -> None:
    short = soaking.read(segments(plan("fx100-a", "array", 1.0, soaking.SCALE, soaking.COARSE), 1))
    for criterion in (leaks.memory_kept, leaks.descriptors_kept):
        found = criterion(short, 5.0, 1)
        assert found.outcome is Outcome.UNDECIDED
        assert str(found.note) == "fewer than 3 hours of values"
