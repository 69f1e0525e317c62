"""Rounds in which heat slowed anything are taken out, for a cause that was written down before anybody saw what they measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.accelerator.facts import Card, Cards
from checks.nvme.health import Health
from checks.phrase import say
from checks.serving import around, judging, trials
from checks.serving.site import Side
from checks.trial import Measured, Voided
from checks.verdict import Outcome
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from lab.machine import Edit
from lab.rack import build
from tests.gates.harness import Virtual
from tests.serving.experiment import held, site

SIDE = Side("local", "local", "node-01", (), serial="S1", platform="rocm")


def disk(celsius: int | None = 40, warning: int = 0, **heat: int) -> Health:
    return Health(warning, celsius, 100, 10, 0, 10**9, 36, 4, 0, 0, tuple(heat.items()))


def cards(count: int | None = 5, degrees: float | None = 60.0, slowed: str | None = None) -> Cards:
    return Cards((Card("GPU 0", temperatures=(("hotspot", degrees),), thermal=(("socket", count),), slowed=slowed),))


def facts(*looks: Health | Cards | None) -> dict[str, object]:
    return dict(
        zip(
            ("local: disk before", "local: disk after", "local: cards before", "local: cards after"), looks, strict=True
        )
    )


@pytest.mark.parametrize(
    ("looks", "why"),
    [
        ((disk(), disk(71, warning=2), cards(), cards()), "too hot"),
        ((disk(thm_temp1_trans_count=3), disk(thm_temp1_trans_count=4), cards(), cards()), "thm_temp1_trans_count +1"),
        ((disk(), disk(), cards(5), cards(6)), "slowed accelerators down while the local arm"),
        ((disk(), disk(), cards(), cards(slowed="hardware thermal slowdown")), "slowed accelerators down"),
    ],
)
def test_heat_in_a_window_takes_the_round_out(looks: tuple[Health | Cards, ...], why: str) -> None:
    with pytest.raises(Voided) as caught:
        around.cool(facts(*looks), SIDE)
    assert why in str(caught.value)


@pytest.mark.parametrize(
    "looks",
    [
        (disk(40, thm_temp1_trans_count=3), disk(69, thm_temp1_trans_count=3), cards(5), cards(5, 95.0)),
        (disk(), disk(thm_temp1_trans_count=9), cards(None), cards(7)),  # told on one side only: nobody knows
        (None, disk(), None, cards()),
        (disk(None), None, cards(5), cards(None, None)),
        (
            disk(thm_temp1_trans_count=9),
            disk(thm_temp1_trans_count=0),
            cards(9),
            cards(0),
        ),  # a disk or card that was changed
    ],
)
def test_what_is_warm_or_was_not_told_takes_nothing_out(looks: tuple[Health | Cards | None, ...]) -> None:
    around.cool(facts(*looks), SIDE)


def test_degrees_of_both_moments_are_kept_for_the_report() -> None:
    looked = around.cool(facts(disk(40), disk(52), cards(5, 60.0), cards(5, 81.0)), SIDE)
    assert around.degrees(looked) == ((40, 52), (60.0, 81.0))
    assert around.degrees(around.cool(facts(None, None, None, cards(5, None)), SIDE)) == ((None, None), (None, None))


def test_one_hot_round_is_made_again_and_stays_on_record(tmp_path: Path) -> None:
    hosts = {host.name: host for host in build()}
    hot = Edit("nvme smart-log .*", replace=(('"thm_temp1_trans_count":0', '"thm_temp1_trans_count":3'),), again=True)
    hosts["node-01"].machine.edits += (hot,)  # told from the second look on: it slowed down within the first window
    trial = trials.paired(site(), 8)
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        tried = Trials([trial], Virtual(hosts), Answers(evidence), "kvgate:test").run()
        assert [one.void is not None for one in tried.rounds(trial)] == [True, False, False, False, False, False]
        found = Tried(tried.answers).measured(trial)
        answers = tried.answers
        steps = {step.name: step for step in trial.steps_of(1)}
        look, result = (
            answers.place("node-01", trial.place(1, steps[name])) for name in ("local: disk before", "local: measure")
        )
    assert look is not None
    assert result is not None
    assert look < result
    assert len(found.facts) == 5
    assert "thm_temp1_trans_count +3" in str(found.voided[0])
    assert judging.ttft(found, site(), held(), 25.0).outcome is Outcome.PASS
    assert "1 void" in str(judging.steady(found, site(), held()).measured)


def test_two_of_six_are_too_many(tmp_path: Path) -> None:
    hosts = {host.name: host for host in build()}
    trial = trials.paired(site(), 8)
    with Evidence.create(tmp_path, "run", {"gate": "G3"}) as evidence:
        good = Trials([trial], Virtual(hosts), Answers(evidence), "kvgate:test").run().measured(trial)
    why = say("hot")
    once = Measured(good.facts, (why,))
    twice = Measured(good.facts[:4], (why, why))
    assert judging.steady(once, site(), held()).outcome is Outcome.PASS
    assert judging.ttft(once, site(), held(), 25.0).outcome is Outcome.PASS
    for verdict in (judging.steady(twice, site(), held()), judging.ttft(twice, site(), held(), 25.0)):
        assert verdict.outcome is Outcome.UNDECIDED
        assert "2 of 6 rounds were taken out, at most 1 in 5" in str(verdict.note)
