"""All nodes at once: only what they read together counts, the worst round decides, and a node without proof decides nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from checks.probe import UnreadableOutput
from checks.serving import fan_in, trials
from checks.serving.fan_in import Crowd, Limit, Together
from checks.serving.limits import together
from checks.serving.records import Instant, Run
from checks.trial import Measured
from checks.verdict import Outcome
from lab.rack import build
from tests.gates.harness import Direct
from tests.serving.experiment import site, terms

PASS, STOP, UNDECIDED = Outcome.PASS, Outcome.STOP, Outcome.UNDECIDED
LOCAL = 10.17


@cache
def measured() -> tuple[Mapping[str, Any], Together]:
    """The facts of one round of the embedded rack's two nodes, and what they are read to."""
    facts: dict[str, Any] = {}
    trial = trials.together(site(), 8, 1)

    def read(found: Mapping[str, Any]) -> Together:
        facts.update(found)
        return trial.read(found)

    found = Direct({host.name: host for host in build()}).measure(replace(trial, read=read))
    assert not found.failed, found.failed
    return facts, found.facts[0]


def limit() -> Limit:
    numbers = terms("G3.9.1")
    return Limit(together(numbers, site()), numbers["together"])


def second(found: Together, **changes: Any) -> Together:
    """The same with another run on the second node."""
    first, other = found.nodes
    return replace(found, nodes=(first, replace(other, run=replace(other.run, **changes))))


def moved(run: Run, seconds: float) -> dict[str, Any]:
    assert run.ends is not None
    return {"ends": tuple(Instant(end.wall + seconds, end.monotonic) for end in run.ends)}


def starved(run: Run, times: float) -> dict[str, Any]:
    """Every wait for the first token as many times as long, one request after another in each slot as before."""
    by_slot: dict[int, float] = {}
    made = []
    for index, one in enumerate(run.requests):
        assert one.sent is not None
        assert one.first is not None
        assert one.last is not None
        assert one.ttft is not None
        slot = index % 8
        sent = by_slot.get(slot, one.sent)
        first = sent + one.ttft * times
        last = first + one.last - one.first
        by_slot[slot] = last + 0.0002
        made.append(
            replace(one, sent=sent, first=first, last=last, ttft=first - sent, latency=last - sent)
        )  # fmt: skip
    assert run.ends is not None
    over = max(by_slot.values()) + 0.05
    begun = run.ends[0]
    return {"requests": tuple(made), "ends": (begun, Instant(begun.wall + over, begun.monotonic + over))}


def judged(*rounds: Together) -> tuple[Outcome, Outcome]:
    found = Measured(rounds)
    fair = fan_in.fair(found, site(), limit(), 80.0)
    soon = fan_in.soon(found, LOCAL, site(), limit(), 100.0, 1.5)
    return fair.outcome, soon.outcome


def test_nodes_that_read_alike_pass_and_their_rates_are_those_of_what_they_restored() -> None:
    _, found = measured()
    assert judged(found, found) == (PASS, PASS)
    told = fan_in.crowd(found, site(), limit())
    assert isinstance(told, Crowd)
    due = found.nodes[0].due
    assert due is not None
    for one in found.nodes:  # every request's KV came back within the run
        whole = due.size / one.client.seconds
        assert told.rates[one.side.host] == pytest.approx(whole, rel=0.1)


def test_nodes_are_named_by_their_hosts_and_asked_prompts_of_their_own() -> None:
    facts, found = measured()
    assert [one.side.role for one in found.nodes] == ["node-01", "node-02"]
    same = {**facts, "node-02: measure": replace(facts["node-02: measure"], prompts=facts["node-01: measure"].prompts)}
    with pytest.raises(UnreadableOutput, match="same prompts"):
        fan_in.ReadAll(site(), 8)(same)


@pytest.mark.parametrize("share, outcome", [(0.15, PASS), (0.25, UNDECIDED), (5.0, UNDECIDED)])
def test_what_was_not_read_at_once_decides_nothing(share: float, outcome: Outcome) -> None:
    _, found = measured()
    run = found.nodes[1].run
    late = second(found, **moved(run, share * found.nodes[1].client.seconds))
    assert judged(late, late) == (outcome, outcome)


@pytest.mark.parametrize("times", [3.0, 8.0, 400.0])
def test_a_starved_node_is_stopped_however_long_it_waits(times: float) -> None:
    _, found = measured()
    slow = second(found, **starved(found.nodes[1].run, times))
    assert judged(slow, slow) == (STOP, STOP)


def test_the_worst_round_decides_and_too_few_rounds_decide_nothing() -> None:
    _, found = measured()
    slow = second(found, **starved(found.nodes[1].run, 3.0))
    assert judged(found, slow) == judged(slow, found) == (STOP, STOP)
    assert judged(found) == (UNDECIDED, UNDECIDED)
    assert judged() == (UNDECIDED, UNDECIDED)


def test_a_node_without_proof_makes_the_round_undecided() -> None:
    _, found = measured()
    first, other = found.nodes
    assert other.traffic is not None
    for wrong in (
        replace(other.traffic, block=0),
        replace(other.traffic, store=None),
        replace(other.traffic, rdma=None),
    ):
        broken = replace(found, nodes=(first, replace(other, traffic=wrong)))
        assert judged(found, broken) == (UNDECIDED, UNDECIDED)
        told = fan_in.crowd(broken, site(), limit())
        assert "node-02" in str(told)


def test_without_a_number_of_the_local_disk_nobody_can_tell_whether_the_array_is_sooner() -> None:
    _, found = measured()
    verdict = fan_in.soon(Measured((found, found)), None, site(), limit(), 100.0, 1.5)
    assert verdict.outcome is UNDECIDED
    assert "G2" in str(verdict.note)


def test_engines_that_are_not_alike_get_no_share_compared() -> None:
    _, found = measured()
    first, other = found.nodes
    settings = tuple(
        {**one, "engine.arguments": f"{one['engine.arguments']} --enforce-eager"} for one in other.settings
    )
    unlike = replace(found, nodes=(first, replace(other, settings=settings)))
    assert judged(found, unlike) == (UNDECIDED, UNDECIDED)
    told = str(fan_in.crowd(unlike, site(), limit()))
    assert "engine.arguments" in told
    assert "node-02" in told
    assert isinstance(fan_in.crowd(unlike, site(may_differ=("engine.arguments",)), limit()), Crowd)


def test_the_numbers_beside_a_verdict_are_those_of_the_round_that_decides() -> None:
    _, found = measured()
    slow = second(found, **starved(found.nodes[1].run, 3.0))
    verdict = fan_in.soon(Measured((slow, found)), LOCAL, site(), limit(), 100.0, 1.5)
    told = fan_in.crowd(slow, site(), limit())
    assert isinstance(told, Crowd)
    assert verdict.outcome is STOP
    shown = {one.name: one.value for one in verdict.quantities}
    assert shown["TTFT p50 of node-02"] == told.ttfts["node-02"]
