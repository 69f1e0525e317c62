"""The table of precedence, pair by pair: which cause names a minute in which two hold, and what a reboot explains and what not."""

from __future__ import annotations

from itertools import permutations

import pytest

from checks.soak.accounting import State, passable
from checks.soak.causes import EXPLAINS, OUTSIDE, PRECEDENCE, RACK, Outage, Reach, explained, leading
from checks.soak.plan import Policy
from lab.soak.trouble import Away, Restart, Trouble, Unhooked, Word
from tests.checks.test_soak_accounting import soak

REACH = Reach(before=60.0, after=60.0, longest=600.0)

#: (cause, what it explains) as the runbook's table has it; written out so that a change of one is a change of the other.
TABLE = {
    ("reboot", "array"), ("reboot", "link"), ("reboot", "disk"), ("reboot", "mount"), ("reboot", "engine"), ("reboot", "load"),
    ("reboot", "worker"), ("reboot", "suspended"), ("reboot", "full"),
    ("suspended", "load"), ("worker", "load"), ("full", "load"), ("stopped", "load"), ("engine", "load"),
}  # fmt: skip


def test_the_table_is_the_one_that_is_written_down() -> None:
    assert {(cause, other) for cause, others in EXPLAINS.items() for other in others} == TABLE
    assert set(PRECEDENCE) == RACK | OUTSIDE
    assert not RACK & OUTSIDE


@pytest.mark.parametrize(("cause", "other"), permutations(PRECEDENCE, 2))
def test_of_two_causes_at_once_one_explains_the_other_or_both_stand(cause: str, other: str) -> None:
    found = list(explained(Outage(other, 1000.0, 1300.0, "it"), cause, 1000.0, 1300.0, REACH))
    if (cause, other) in TABLE:
        assert found == [Outage(cause, 1000.0, 1300.0, "it")]
    else:
        assert found == [Outage(other, 1000.0, 1300.0, "it")]


@pytest.mark.parametrize(("cause", "other"), permutations(PRECEDENCE, 2))
def test_a_minute_of_two_causes_is_named_by_the_one_that_stands_first(cause: str, other: str) -> None:
    first = min(cause, other, key=PRECEDENCE.index)
    named = leading([Outage(cause, 0.0, 60.0, ""), Outage(other, 30.0, 90.0, "")])
    assert named.cause == first
    # No fault of the rack hides behind a cause that a policy passes over.
    assert named.cause in RACK or not {cause, other} & RACK


def test_what_was_away_before_and_what_stays_away_too_long_is_no_consequence() -> None:
    whole = Outage("engine", 900.0, 2500.0, "vllm")
    assert list(explained(whole, "reboot", 1000.0, 1300.0, REACH)) == [
        Outage("engine", 900.0, 1000.0, "vllm"), Outage("reboot", 1000.0, 1900.0, "vllm"), Outage("engine", 1900.0, 2500.0, "vllm"),
    ]  # fmt: skip
    assert list(explained(Outage("engine", 940.0, 1300.0, ""), "reboot", 1000.0, 1300.0, REACH)) == [
        Outage("reboot", 1000.0, 1300.0, "")
    ]
    later = Outage("engine", 1361.0, 1400.0, "")
    assert list(explained(later, "reboot", 1000.0, 1300.0, REACH)) == [later]
    earlier = Outage("engine", 900.0, 999.0, "")
    assert list(explained(earlier, "reboot", 1000.0, 1300.0, REACH)) == [earlier]


def causes(*troubles: Trouble, policy: tuple[int, float] = (2, 1800.0)) -> list[str]:
    found = soak(*troubles, policy=policy)
    return [span.cause for span in found.account.of(State.INTERRUPTED)]


REBOOT = Away("reboot", 1801, 300)


@pytest.mark.parametrize(
    ("trouble", "found"),
    [
        ((), ["reboot"]),
        ((Word("space", "/mnt/fx100", "mounted", 2100, 2200, False),), ["reboot"]),  # mounted a little after the boot
        ((Word("net", "ens1f0np0", "operstate", 2100, 2200, "down"),), ["reboot"]),
        ((Word("net", "ens1f0np0", "operstate", 1700, 2200, "down"),), ["link", "reboot"]),  # it was down before
        ((Word("nvme", "nvme1", "state", 1790, 1801, "connecting"),), ["array", "reboot"]),
        ((Word("nvme", "nvme1", "state", 2400, 2500, "connecting"),), ["reboot", "array"]),  # it had come back
        ((Word("space", "/mnt/fx100", "mounted", 2100, 3000, False),), ["reboot", "mount"]),  # not within ten minutes
        ((Restart(2700, 90),), ["reboot", "engine"]),
        ((Unhooked("client", 1700, 3600),), ["reboot"]),
    ],
)
def test_a_reboot_explains_what_begins_with_it_and_nothing_else(trouble: tuple[Trouble, ...], found: list[str]) -> None:
    assert causes(REBOOT, *trouble) == found


def test_a_planned_restart_explains_the_process_and_no_path() -> None:
    away = Word("nvme", "nvme1", "state", 9 * 3600 + 620, 9 * 3600 + 700, "connecting")
    found = soak(away, hours=10.0)
    assert [span.cause for span in found.account.of(State.INTERRUPTED)] == ["array"]


def test_only_what_is_outside_of_the_rack_and_short_is_passed_over() -> None:
    (span,) = soak(REBOOT, policy=(1, 1800.0)).account.of(State.INTERRUPTED)
    assert passable(span, Policy("resume", 1, 1800.0))
    assert not passable(span, Policy("resume", 1, 300.0))  # the engine came back later than the worker did
    assert not passable(span, Policy("restart_clock", 1, 1800.0))
