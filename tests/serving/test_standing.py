"""A serving baseline stands on rounds that are proven and repeat; G3 must meet it again, and can exceed no measured rate."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from checks.phrase import say
from checks.serving import judging, standing, trials
from checks.serving.baseline import Alone, alone
from checks.serving.limits import Limits
from checks.serving.limits import alone as held_alone
from checks.serving.rounds import Round
from checks.trial import Measured, Trial
from checks.verdict import Outcome, Quantity, Verdict
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from lab.load.host import LoadHost
from lab.rack import VirtualHost, build
from lab.serving.model import Flaw
from tests.gates.harness import Virtual
from tests.serving.experiment import held, rack_site, site, terms

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED


def unsure(limits: Limits) -> Limits:
    """As agreements before `sure` have it: what goes one way is no baseline, and nothing has to be shown to stay."""
    return replace(limits, rules=replace(limits.rules, sure_percent=0.0))


AGREED: Limits = held_alone(terms("G2.6.1"), rack_site(), True)
ALONE: Limits = unsure(AGREED)
ANEW: Limits = unsure(held_alone(terms("G2.6.2"), rack_site(), False))


def made(trial: Trial[Any], *faults: str) -> Measured[Any]:
    return on({host.name: host for host in build(faults=faults)}, trial)


def on(hosts: dict[str, VirtualHost], trial: Trial[Any]) -> Measured[Any]:
    memory = Path("/dev/shm")
    place = TemporaryDirectory(dir=memory if memory.is_dir() else None)
    with place as folder, Evidence.create(Path(folder), "run", {"gate": "G2"}) as evidence:
        return Trials([trial], Virtual(hosts), Answers(evidence), "kvgate:test").run().measured(trial)


@cache
def by_itself(role: str = "local") -> Measured[Alone]:
    return made(alone(site(), site().arm(role), 8, 3, 1.0))


@cache
def both() -> Measured[Round]:
    return made(trials.paired(site(), 8))


def stretched(measured: Measured[Alone], *factors: float) -> Measured[Alone]:
    """The same rounds with every time multiplied."""
    return replace(measured, facts=tuple(_longer(one, by) for one, by in zip(measured.facts, factors, strict=True)))


def _longer(one: Alone, by: float) -> Alone:
    requests = tuple(
        replace(
            it, sent=it.sent * by, first=it.first * by, last=it.last * by, ttft=it.ttft * by,
            latency=None if it.latency is None else it.latency * by,
        )
        for it in one.arm.run.requests
    )  # fmt: skip
    return replace(one, arm=replace(one.arm, run=replace(one.arm.run, requests=requests)))


def quantity(verdict: Verdict, name: str) -> float:
    return next(one.value for one in verdict.quantities if one.name == name)


@pytest.mark.parametrize(("role", "limits"), [("local", ALONE), ("recompute", ANEW)])
def test_rounds_that_are_proven_and_repeat_are_a_baseline_with_its_variance(role: str, limits: Limits) -> None:
    found = standing.stands(by_itself(role), site(), limits)
    assert found.outcome is PASS, found.note
    assert {one.unit for one in found.quantities if one.name in (standing.TTFT, standing.THROUGHPUT)} == {"s", "tok/s"}
    assert 0 < quantity(found, "TTFT p50 variation") < 5
    assert quantity(found, "rounds") == 3


def test_the_prompts_of_a_baseline_are_asked_by_nobody_else() -> None:
    where = site()
    mine = {one.arm.client.prompts for one in by_itself().facts}
    theirs = {one.local.client.prompts for one in both().facts}
    assert len(mine) == 3
    assert not mine & theirs
    assert alone(where, where.local, 8, 3, 1.0).key != trials.paired(where, 8).key


@pytest.mark.parametrize(
    ("factors", "outcome"),
    [((1.0, 1.10, 1.05), PASS), ((1.0, 1.13, 1.06), UNDECIDED), ((1.0, 1.0, 0.5), UNDECIDED)],
)
def test_rounds_that_vary_are_no_baseline(factors: tuple[float, ...], outcome: Outcome) -> None:
    found = standing.stands(stretched(by_itself(), *factors), site(), ALONE)
    assert found.outcome is outcome
    assert "varies by" in str(found.measured)  # the variation is shown whatever it is


@pytest.mark.parametrize(
    ("factors", "outcome"),
    [((1.0, 1.006, 1.012), PASS), ((1.0, 1.02, 1.04), UNDECIDED), ((1.0, 0.98, 0.96), UNDECIDED), ((1.0, 1.04, 1.02), PASS)],
)  # fmt: skip
def test_rounds_that_go_one_way_are_no_baseline_however_little_they_vary(
    factors: tuple[float, ...], outcome: Outcome
) -> None:
    found = standing.stands(stretched(by_itself(), *factors), site(), ALONE)
    assert found.outcome is outcome, found.note
    if outcome is UNDECIDED:
        assert "not at its level: each of 3 rounds" in str(found.note)
        assert "no heat" in str(found.note)  # the cause is looked for here too


@pytest.mark.parametrize(
    ("factors", "more"), [((1.0, 1.001, 1.002), False), ((1.0, 1.02, 1.04), True), ((1.0, 1.03, 1.0), False)]
)
def test_more_rounds_are_made_while_they_go_one_way(factors: tuple[float, ...], more: bool) -> None:
    trial = alone(site(), site().local, 8, 3, 1.0)
    assert trial.enough is not None
    assert trial.most == 6
    assert trial.most_after(2) == 4  # what makes up for a void round is no more than before
    rounds = stretched(by_itself(), *factors).facts
    assert trial.enough(rounds) is not more
    request = replace(rounds[2].arm.run.requests[0], ttft=None)
    run = replace(rounds[2].arm.run, requests=(request, *rounds[2].arm.run.requests[1:]))
    broken = (*rounds[:2], replace(rounds[2], arm=replace(rounds[2].arm, run=run)))
    assert trial.enough(broken)  # it stands for nothing any more: not a minute more is spent on it


def sure(most: int = 10) -> Trial[Alone]:
    return alone(site(), site().local, 8, 3, 1.0, sure=95, at_most=most)


@cache
def shown() -> Measured[Alone]:
    return made(sure())


def test_rounds_go_on_until_it_is_shown_that_they_stay() -> None:
    assert 3 < len(shown().facts) < 10
    found = standing.stands(shown(), site(), AGREED)
    assert found.outcome is PASS, found.note
    assert "95 percent of certainty" in str(found.required)
    assert sure().enough is not None
    assert not sure().enough(shown().facts[:-1])  # type: ignore[misc]  # there is one, said the line before
    assert "not shown to stay" in str(standing.stands(replace(shown(), facts=shown().facts[:-1]), site(), AGREED).note)


@pytest.mark.parametrize(
    ("factors", "said"),
    [
        (
            (1.0, 1.03, 1.06),
            "not at its level: each of 3 rounds",
        ),  # far beyond the bound: no further round is spent on it
        ((1.0, 1.03, 0.99), "not shown to stay at its level: each of 3 rounds gives"),
        ((1.0, 1.01, 1.02), "not shown to stay at its level"),
    ],
)
def test_what_goes_and_what_shakes_are_told_apart(factors: tuple[float, ...], said: str) -> None:
    found = stretched(replace(shown(), facts=shown().facts[:3]), *factors)
    verdict = standing.stands(found, site(), AGREED)
    assert verdict.outcome is UNDECIDED
    assert said in str(verdict.note)
    enough = sure().enough
    assert enough is not None
    assert enough(found.facts) is said.startswith("not at its level")


@pytest.mark.parametrize(("certainty", "rounds"), [(0.95, 3), (100.0, 3), (95.0, 2)])
def test_what_cannot_be_shown_with_the_agreed_numbers_is_not_taken_for_shown(certainty: float, rounds: int) -> None:
    """A share where percent belong, or two rounds, which have no slope: a drift of 2 % a round passed as shown to stay."""
    drifting = stretched(replace(by_itself(), facts=by_itself().facts[:rounds]), *(1.0, 1.02, 1.04)[:rounds])
    rules = replace(AGREED.rules, sure_percent=certainty, rounds=rounds)
    found = standing.stands(drifting, site(), replace(AGREED, rules=rules))
    assert found.outcome is UNDECIDED
    assert "not shown to stay at its level" in str(found.note)
    enough = alone(site(), site().local, 8, rounds, 1.0, sure=certainty, at_most=10).enough
    assert enough is not None
    assert enough(drifting.facts) is (rounds == 3)  # a third round gives two of them a slope


def test_the_cause_of_rounds_that_vary_is_looked_for() -> None:
    loose = stretched(by_itself(), 1.0, 1.2, 1.4)
    assert "no heat" in str(standing.stands(loose, site(), ALONE).note)
    disk = loose.facts[2].around.disk[1]
    assert disk is not None
    warm = replace(loose.facts[2].around, disk=(disk, replace(disk, celsius=(disk.celsius or 0) + 20, media_errors=3)))
    found = standing.stands(
        replace(loose, facts=(*loose.facts[:2], replace(loose.facts[2], around=warm))), site(), ALONE
    )
    assert "the disk went from" in str(found.note)
    assert "new media errors" in str(found.note)


def test_accelerators_that_heat_slows_are_named() -> None:
    loose = stretched(by_itself(), 1.0, 1.2, 1.4)
    before, after = loose.facts[0].around.cards
    assert before is not None
    assert after is not None
    hot = replace(after.cards[0], slowed="hardware thermal slowdown", temperatures=(("core", 99.0),))
    slowed = replace(loose.facts[0].around, cards=(before, replace(after, cards=(hot, *after.cards[1:]))))
    note = str(
        standing.stands(
            replace(loose, facts=(replace(loose.facts[0], around=slowed), *loose.facts[1:])), site(), ALONE
        ).note
    )
    assert "slowed by heat in 1 rounds" in note
    assert "to 99 C" in note


def test_what_cannot_be_looked_at_around_a_round_breaks_none() -> None:
    dark = tuple(
        replace(one, around=replace(one.around, disk=(None, None), cards=(None, None))) for one in by_itself().facts
    )
    assert standing.stands(replace(by_itself(), facts=dark), site(), ALONE).outcome is PASS


def test_too_few_rounds_or_too_many_taken_out_are_no_baseline() -> None:
    whole = by_itself()
    assert standing.stands(replace(whole, facts=whole.facts[:2]), site(), ALONE).outcome is UNDECIDED
    assert standing.stands(replace(whole, facts=()), site(), ALONE).outcome is UNDECIDED
    out = replace(whole, voided=(say("heat"),))
    assert "taken out" in str(standing.stands(out, site(), ALONE).note)
    less = replace(ALONE, rules=replace(ALONE.rules, one_void_in=4))
    found = standing.stands(out, site(), less)
    assert found.outcome is PASS
    assert "heat" in str(found.note)


def test_an_arm_that_restores_is_no_measure_of_computing_anew() -> None:
    found = by_itself("recompute").facts[0]
    assert found.arm.traffic is not None
    for traffic in (
        replace(found.arm.traffic, computed=found.arm.traffic.computed // 2 if found.arm.traffic.computed else None),
        replace(found.arm.traffic, computed=None),
        replace(found.arm.traffic, prompt=None),
        replace(found.arm.traffic, preemptions=1),
    ):
        rounds = (replace(found, arm=replace(found.arm, traffic=traffic)), *by_itself("recompute").facts[1:])
        assert standing.stands(replace(by_itself("recompute"), facts=rounds), site(), ANEW).outcome is UNDECIDED


def test_a_failed_request_never_enters_a_baseline() -> None:
    found = made(alone(site(), site().local, 8, 3, 1.0), "baseline-request-dropped")
    verdict = standing.stands(found, site(), ALONE)
    assert verdict.outcome is UNDECIDED
    assert not verdict.quantities
    assert "1 of 80 requests" in str(verdict.note)


def test_one_round_whose_link_went_down_is_made_again() -> None:
    """What would stop a good rack: one event that counters recorded, outside the arm."""
    hosts = {host.name: host for host in build()}
    computed = hosts["node-01"].machine.computed
    assert isinstance(computed, LoadHost)
    assert computed.serving is not None
    computed.serving.flaws = (Flaw("link-bounces", "local", rounds=(2,)),)
    found = on(hosts, alone(site(), site().local, 8, 5, 1.0))
    assert len(found.facts) == 5
    assert len(found.voided) == 1
    assert standing.stands(found, site(), ALONE).outcome is PASS


# ---- what the comparison can expect


def test_the_precision_of_the_comparison_is_told_from_the_rounds_of_the_local_arm() -> None:
    calm = standing.precise(by_itself(), site(), ALONE, 4.0, 25.0, 40.0, 5)
    assert calm.outcome is PASS
    shaky = standing.precise(stretched(by_itself(), 1.0, 1.03, 1.06), site(), ALONE, 4.0, 25.0, 40.0, 5)
    assert shaky.outcome is STOP
    assert "rounds would do" in str(shaky.note)
    assert quantity(shaky, "points of TTFT p50") > quantity(calm, "points of TTFT p50")
    assert standing.precise(replace(by_itself(), facts=()), site(), ALONE, 4.0, 25.0, 40.0, 5).outcome is UNDECIDED


def test_rounds_that_no_number_of_them_would_mend_are_said_to_be_so() -> None:
    wild = standing.precise(stretched(by_itself(), 1.0, 2.0, 4.0), site(), ALONE, 1.0, 25.0, 40.0, 5)
    assert "would not do" in str(wild.note)


# ---- met again in G3


def before(ttft: float | None, rate: float | None) -> Verdict:
    told = [(standing.TTFT, ttft, "s"), (standing.THROUGHPUT, rate, "tok/s")]
    quantities = tuple(Quantity(name, value, unit) for name, value, unit in told if value is not None)
    return Verdict(PASS, say("measured"), say("required"), quantities=quantities)


@pytest.mark.parametrize(
    ("ttft", "rate", "outcome"),
    [
        (1.0, 1.0, PASS), (1.09, 0.92, PASS), (1.12, 1.0, UNDECIDED), (0.88, 1.0, UNDECIDED), (1.0, 1.12, UNDECIDED),
        (1.0, 0.88, UNDECIDED), (None, 1.0, UNDECIDED), (1.0, None, UNDECIDED), (None, None, UNDECIDED),
    ],
)  # fmt: skip
def test_the_local_arm_must_meet_the_baseline_in_both_numbers_and_both_directions(
    ttft: float | None, rate: float | None, outcome: Outcome
) -> None:
    alike = standing.reproduced(both(), before(10.19, 43.7), site(), held(), 1000)
    now = [
        10.19 * (1 + quantity(alike, "change of TTFT p50") / 100),
        43.7 * (1 + quantity(alike, "change of throughput") / 100),
    ]
    then = before(None if ttft is None else now[0] * ttft, None if rate is None else now[1] * rate)
    assert standing.reproduced(both(), then, site(), held(), 10).outcome is outcome


def test_without_a_baseline_nothing_is_met_and_g2_is_named() -> None:
    found = standing.reproduced(both(), None, site(), held(), 10)
    assert found.outcome is UNDECIDED
    assert "run G2 first" in str(found.note)
    few = standing.reproduced(replace(both(), facts=both().facts[:4]), before(10.19, 43.7), site(), held(), 10)
    assert "4 rounds" in str(few.note)


# ---- nothing is read faster than what was measured


def rates() -> Iterator[tuple[str, float]]:
    for arm in (both().facts[0].local, both().facts[0].array):
        assert arm.traffic is not None
        assert arm.traffic.block is not None
        yield arm.side.role, arm.traffic.block / arm.client.seconds


@pytest.mark.parametrize(("factor", "outcome"), [(1.05, PASS), (0.95, UNDECIDED), (None, UNDECIDED)])
@pytest.mark.parametrize("role", ["local", "array"])
def test_no_arm_reads_faster_than_g2_measured_on_its_device(role: str, factor: float | None, outcome: Outcome) -> None:
    fastest = {arm: max(value for name, value in rates() if name == arm) for arm in ("local", "array")}
    limit = None if factor is None else fastest[role] * factor
    one = replace(both(), facts=both().facts[:1])
    found = judging.proven(one, site(), replace(held(), measured=((role, say("what G2 measured"), limit),)))
    assert found.outcome is outcome
    if outcome is UNDECIDED:
        assert role in str(found.note)
        assert "what G2 measured" in str(found.note)


def test_the_fastest_of_several_measurements_is_the_ceiling() -> None:
    told = [Verdict(STOP, say("slow"), say("fast"), quantities=(Quantity("r", value, "B/s"),)) for value in (3.0, 5.0)]
    assert standing.fastest([None, *told], "r") == 5.0
    assert standing.fastest([None, *told], "other") is None
    assert standing.fastest([], "r") is None
