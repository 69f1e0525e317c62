"""The judgement is shown to see before its verdict counts, and what makes it blind is not passed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from checks.phrase import say
from checks.serving import judging, sensitivity, trials
from checks.serving.rounds import Round
from checks.trial import Trial
from checks.verdict import Outcome, Verdict
from kvgate.errors import CannotTell
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.moment import Moment
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from kvgate.transport.base import Batch, Command
from lab.rack import build
from lab.serving.model import SPEED, Flaw
from tests.gates.harness import Virtual
from tests.serving.experiment import held, site, terms


def test_too_small_a_drop_is_stopped_and_a_large_one_passes_at_every_concurrency() -> None:
    for concurrency in (8, 16, 32):
        found = sensitivity.sees(site(), concurrency, held(), 20.0, 30.0, 25.0)
        assert found.outcome is Outcome.PASS, found.note


def test_the_agreed_numbers_lie_on_both_sides_of_the_agreed_drop() -> None:
    assert terms()["small"] < terms()["least"] < terms()["large"]


def test_limits_that_let_nothing_decide_make_the_clause_undecided() -> None:
    found = sensitivity.sees(site(), 8, held(width=0.001), 20.0, 30.0, 25.0)
    assert found.outcome is Outcome.UNDECIDED
    assert "points wide" in str(found.note)


def test_a_judgement_that_passes_a_small_drop_is_no_judgement() -> None:
    assert sensitivity.sees(site(), 8, held(), 26.5, 30.0, 25.0).outcome is Outcome.UNDECIDED


def test_a_verdict_counts_only_where_the_judgement_sees() -> None:
    good = Verdict.of(True, "-27 %", "-25 %")
    blind = Verdict.undecided(say("blind"))
    assert sensitivity.backed(good, Verdict.of(True, "seen", "")).outcome is Outcome.PASS
    assert sensitivity.backed(good, blind).outcome is Outcome.UNDECIDED
    assert sensitivity.backed(Verdict.of(False, "-1 %", "-25 %"), blind).outcome is Outcome.UNDECIDED


def test_an_inventory_cannot_ask_for_fewer_rounds_than_agreed() -> None:
    where = site(rounds=1)
    assert held(where).rules.rounds == terms()["rounds"]
    assert sensitivity.sees(where, 8, held(where), 20.0, 30.0, 25.0).outcome is Outcome.UNDECIDED
    assert held(replace(where, rounds=7)).rules.rounds == 7


def true_drop(percent: float) -> Flaw:
    """What makes the lab's array arm give its first token exactly so much earlier than its local arm at concurrency 8."""
    local, array = SPEED["local"][8][0], SPEED["array"][8][0]
    return Flaw("late-first-token", "array", local * (1 - percent / 100) / array - 1)


@pytest.mark.parametrize(("percent", "outcome"), [(20.0, Outcome.STOP), (30.0, Outcome.PASS)])
def test_on_the_lab_engine_a_true_drop_of_20_is_stopped_and_one_of_30_passes(
    tmp_path: Path, percent: float, outcome: Outcome
) -> None:
    hosts = {host.name: host for host in build()}
    for host in hosts.values():
        if (serving := getattr(host.machine.computed, "serving", None)) is not None:
            serving.flaws = (true_drop(percent),)
    trial = trials.paired(site(), 8)
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        found = Trials([trial], Virtual(hosts), Answers(evidence), "kvgate:test").run().measured(trial)
    verdict = judging.ttft(found, site(), held(), 25.0)
    assert verdict.outcome is outcome, verdict
    assert f"-{percent:.0f}" in str(verdict.measured) or f"-{percent - 1:.0f}." in str(verdict.measured)


class Counting(Virtual):
    """A way to the hosts that counts what it is asked."""

    asked = 0

    def each(self, commands: Mapping[str, Sequence[Command]]) -> Iterator[Batch]:
        self.asked += sum(len(wanted) for wanted in commands.values())
        return super().each(commands)


def proven(**limits: float) -> tuple[Trial[Round], Callable[[], Verdict]]:
    where = site(rounds=5)
    proof = partial(sensitivity.sees, where, 8, held(where, **limits), 20.0, 30.0, 25.0)
    return trials.paired(where, 8, None, proof), proof


def test_the_proof_is_shown_and_written_down_before_the_first_round(tmp_path: Path) -> None:
    trial, _ = proven()
    told: list[Moment] = []
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        hosts = {host.name: host for host in build()}
        Trials(
            [trials.paired(site(), 8), trial], Virtual(hosts), Answers(evidence), "kvgate:test", tell=told.append
        ).run()
        (line,) = evidence.notes("proof")
        first = next(iter(evidence.notes("round-begun")))
    assert line["outcome"] == "PASS"
    assert "20 %: STOP" in str(line["measured"])
    assert int(line["seq"]) < int(first["seq"])
    assert told[0].proof is not None
    assert all(one.proof is None for one in told[1:])


def test_a_judgement_that_does_not_see_measures_nothing(tmp_path: Path) -> None:
    trial, _ = proven(width=0.001)
    way = Counting({host.name: host for host in build()})
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        tried = Trials([trial], way, Answers(evidence), "kvgate:test").run()
        assert way.asked == 0, "no engine was started for rounds that nobody can judge"
        for again in (tried, Tried(tried.answers)):
            with pytest.raises(CannotTell, match=r"could not tell made-up drops apart.*points wide"):
                again.measured(trial)
