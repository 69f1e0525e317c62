"""Every rule by which a minute of a soak gets its state, just on this side of its bound and just on the other."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from checks.parsers import soak_journal
from checks.probe import UnreadableOutput
from checks.soak import counters, covered, drift, errors
from checks.soak.accounting import State
from checks.soak.facts import HostSoak, condense
from checks.soak.track import gather, track
from checks.statistics.changes import changes
from checks.verdict import Outcome
from lab.soak.journal import segments
from lab.soak.plan import plan
from lab.soak.trouble import Away, Count, Moved, Restart, Silent, Stopped, Trouble, Word

HOURS = 1.0


def soak(
    *troubles: Trouble, hours: float = HOURS, policy: tuple[int, float] = (0, 0.0), lines: int = 20_000
) -> HostSoak:
    count, longest = policy
    rule = {"interruption": "resume" if count else "restart_clock", "interruptions": count, "longest": longest}
    texts = segments(plan("node-01", "node", hours, 960, 60, rule), 7, troubles, step=60, lines=lines)
    return condense(track(*gather(soak_journal.parse(text) for text in texts)))


def minutes(found: HostSoak, state: State) -> list[int]:
    return [minute for span in found.account.of(state) for minute in range(span.begin, span.end)]


def test_a_quiet_hour_runs_in_every_minute() -> None:
    found = soak()
    assert minutes(found, State.RUNNING) == list(range(60))
    assert found.account.qualified == 60


@pytest.mark.parametrize("kind", ["worker", "full"])
def test_a_pause_of_a_minute_costs_nothing_and_a_longer_one_the_time_before_it(kind: str) -> None:
    brief, long = soak(Away(kind, 1801, 58)), soak(Away(kind, 1801, 62))
    assert brief.account.qualified == 60
    assert minutes(brief, State.RESUMED)
    assert minutes(long, State.INTERRUPTED) == [30, 31]
    assert [span.cause for span in long.account.of(State.INTERRUPTED)] == [kind]
    assert long.account.qualified == 30
    assert minutes(long, State.RESUMED) == [32]


def test_a_reboot_is_an_interruption_until_what_it_took_away_is_back() -> None:
    quick, slow = soak(Away("reboot", 1801, 62, booting=0)), soak(Away("reboot", 1801, 62))
    assert minutes(quick, State.INTERRUPTED) == [30, 31]
    assert minutes(slow, State.INTERRUPTED) == [30, 31, 32, 33]
    assert {span.cause for span in slow.account.of(State.INTERRUPTED)} == {"reboot"}
    assert not [one for one in slow.outages if one.cause != "reboot"]


def test_the_policy_passes_over_as_many_interruptions_as_it_says_and_no_longer_ones() -> None:
    twice = (Away("worker", 1201, 118), Away("worker", 2401, 118))
    assert soak(*twice, policy=(2, 180)).account.qualified == 60 - 4
    assert soak(*twice, policy=(1, 180)).account.qualified < 60 - 4
    assert soak(*twice, policy=(2, 60)).account.qualified < 40
    assert covered.uninterrupted(soak(*twice, policy=(2, 180))).outcome is Outcome.PASS
    # One too many costs the time before it, which G4.1.1 counts; it is no fault of the rack, which G4.1.2 is about.
    assert covered.uninterrupted(soak(*twice, policy=(1, 180))).outcome is Outcome.PASS
    assert covered.qualified(soak(*twice, policy=(1, 180)), 0.9, simulated=True).outcome is Outcome.STOP
    assert covered.qualified(soak(*twice, policy=(2, 180)), 0.9, simulated=True).outcome is Outcome.PASS


@pytest.mark.parametrize("policy", [(0, 0.0), (1, 180.0)])
def test_both_clauses_about_interruptions_say_the_same_of_the_same_event(policy: tuple[int, float]) -> None:
    """What costs time alone is no STOP where enough time is left, and a fault of the rack is one however much is left."""
    outside = soak(Away("reboot", 601, 118), policy=policy)
    assert covered.qualified(outside, 0.7, simulated=True).outcome is Outcome.PASS
    assert covered.uninterrupted(outside).outcome is Outcome.PASS
    assert "minute 10" in str(covered.uninterrupted(outside).note)
    rack = soak(Word("nvme", "nvme1", "state", 601, 719, "connecting"), policy=policy)
    assert covered.qualified(rack, 0.7, simulated=True).outcome is Outcome.PASS
    assert covered.uninterrupted(rack).outcome is Outcome.STOP


def test_no_policy_passes_over_what_the_rack_did() -> None:
    away = Word("nvme", "nvme1", "state", 1800, 1860, "connecting")
    found = soak(away, policy=(5, 3600))
    assert [span.cause for span in found.account.of(State.INTERRUPTED)] == ["array"]
    assert covered.uninterrupted(found).outcome is Outcome.STOP


def test_three_missing_samples_are_no_gap_and_four_are() -> None:
    assert not minutes(soak(Silent("disk", 1800, 1800 + 100)), State.GAP)
    assert minutes(soak(Silent("disk", 1800, 1800 + 240)), State.GAP) == [30, 31, 32, 33]


def test_a_stream_that_nobody_needs_to_know_a_minute_by_leaves_no_gap() -> None:
    assert not minutes(soak(Silent("smart", 0, 3600)), State.GAP)


def test_a_step_of_the_clock_is_a_finding_above_its_bound_only_and_moves_no_minute() -> None:
    stepped, slewed = soak(Moved(1800, 0.11)), soak(Moved(1800, 0.09))
    assert stepped.account.qualified == slewed.account.qualified == 60
    assert covered.clocks(stepped, 10, 100).outcome is Outcome.STOP
    assert covered.clocks(slewed, 10, 100).outcome is Outcome.PASS


def test_a_reboot_after_a_step_of_the_clock_is_placed_where_it_was() -> None:
    found = soak(Moved(600, 3.0), Away("reboot", 1800, 300, booting=0))
    assert minutes(found, State.INTERRUPTED) == [30, 31, 32, 33, 34]
    assert found.account.planned == 60


def test_a_counter_that_begins_anew_with_the_machine_counts_from_zero_and_one_without_tells_nothing() -> None:
    fell = Count("net", "ens1f0np0", "rx_crc_errors", 1800, -2)  # from 3 to 1
    rebooted, alone = soak(fell, Away("reboot", 1790, 120)), soak(fell)
    (rise,) = [one for one in rebooted.counted["port"].moved if one.field == "rx_crc_errors"]
    assert (rise.by, rise.back) == (1, None)
    (back,) = [one for one in alone.counted["port"].moved if one.field == "rx_crc_errors"]
    assert (back.by, back.back) == (0, 30)
    assert errors.unmoved(rebooted, "port", ("net",)).outcome is Outcome.STOP
    assert errors.unmoved(alone, "port", ("net",)).outcome is Outcome.UNDECIDED


def test_an_engine_that_was_restarted_by_itself_is_found_and_a_planned_restart_is_not() -> None:
    assert [span.cause for span in soak(Restart(1800, 90)).account.of(State.INTERRUPTED)] == ["engine"]
    planned = soak(hours=10.0)
    assert minutes(planned, State.SCHEDULED)
    assert not minutes(planned, State.INTERRUPTED)
    assert planned.account.qualified == 600


def test_a_planned_restart_that_takes_too_long_is_excused_no_longer_than_was_said() -> None:
    found = soak(Word("process", "engine", "pid", 9 * 3600 + 600, 9 * 3600 + 600 + 2400, None), hours=10.0)
    assert minutes(found, State.SCHEDULED) == list(range(550, 580))
    assert minutes(found, State.INTERRUPTED) == list(range(580, 590))


def test_a_soak_that_was_stopped_has_no_minute_left_that_nobody_told_of() -> None:
    found = soak(Stopped(2700))
    assert minutes(found, State.INTERRUPTED) == list(range(45, 60))
    assert found.account.qualified == 45
    assert not minutes(found, State.AHEAD)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(["worker", "reboot", "full"]), st.integers(1, 55), st.integers(5, 400)), max_size=3
    ),
    st.integers(200, 3000),
)
def test_every_minute_has_one_state_however_the_journal_was_broken_and_cut(
    aways: list[tuple[str, int, int]], lines: int
) -> None:
    troubles, free = [], 0.0
    for kind, minute, seconds in sorted(aways, key=lambda one: one[1]):
        if minute * 60 > free:
            troubles.append(Away(kind, minute * 60.0, float(seconds)))
            free = minute * 60.0 + seconds + 60
    found = soak(*troubles, lines=lines)
    edges = [span.begin for span in found.account.spans] + [found.account.planned]
    assert edges == sorted(edges)
    assert edges[0] == 0
    assert sum(span.minutes for span in found.account.spans) == found.account.planned == 60
    assert found.account.qualified <= 60 - found.account.minutes(State.INTERRUPTED, State.GAP)
    assert all(one.twice == 0 for one in found.sampled)
    whole = soak(*troubles)
    assert (found.account, found.counted, found.sampled) == (whole.account, whole.counted, whole.sampled)


def test_segments_of_two_journals_are_no_journal() -> None:
    first, other = (segments(plan(host, "node", 1, 960, 60), 7, lines=300) for host in ("node-01", "node-02"))
    with pytest.raises(UnreadableOutput):
        track(*gather(soak_journal.parse(text) for text in (first[0], *other[1:])))


def test_room_and_heat_are_judged_at_their_bounds() -> None:
    size = 14 * 10**12
    least = soak(Word("space", "/mnt/fx100", "available", 600, 700, size // 10))
    under = soak(Word("space", "/mnt/fx100", "available", 600, 700, size // 10 - 10**9))
    assert drift.room_left(least, 0.10).outcome is Outcome.PASS
    assert drift.room_left(under, 0.10).outcome is Outcome.STOP
    assert drift.cool(soak(Word("thermal", "nvme0/Composite", "celsius", 600, 700, 69.9))).outcome is Outcome.PASS
    assert drift.cool(soak(Word("thermal", "nvme0/Composite", "celsius", 600, 700, 70.0))).outcome is Outcome.STOP


@pytest.mark.parametrize(
    ("cut", "declarable"), [((), True), (("card3_throttle: 12 samples missing from minute 7",), False)]
)
def test_a_person_may_answer_for_heat_that_no_tool_tells_and_not_for_what_was_cut_off(
    cut: tuple[str, ...], declarable: bool
) -> None:
    whole = soak()
    heat = whole.counted["heat"]
    untold = tuple(("accelerator", why) for why in (*counters.NO_HEAT.values(), *cut))
    found = drift.cool(replace(whole, counted={**whole.counted, "heat": replace(heat, untold=untold)}))
    assert (found.outcome, found.declarable) == (Outcome.UNDECIDED, declarable)
    assert all(why in str(found.note) for _, why in untold)


def test_changes_of_level_are_found_where_they_are_and_noise_is_none() -> None:
    noise = [1 + 0.01 * ((at * 7919) % 13 - 6) / 6 for at in range(72)]
    assert not [one for one in changes(noise) if abs(one.percent) > 2]
    stepped = [value * (1.1 if at >= 40 else 1) for at, value in enumerate(noise)]
    (found,) = [one for one in changes(stepped) if abs(one.percent) > 2]
    assert abs(found.place - 40) <= 1
    assert found.percent == pytest.approx(10, abs=1.5)
    assert changes(stepped) == changes(stepped)
    with pytest.raises(ValueError, match="wanted at least"):
        changes([1.0] * 5)
