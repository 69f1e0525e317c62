"""A serving baseline with void rounds on the embedded rack: one of three is made up for, two are not, and none is hidden."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.serving import standing
from checks.serving.baseline import Alone, alone
from checks.serving.limits import alone as held_alone
from checks.trial import Measured
from checks.verdict import Outcome
from kvgate.errors import CannotTell
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.collect import replay
from kvgate.gate.trials import Trials
from kvgate.gate.tried import Tried
from lab.load.host import LoadHost
from lab.rack import build
from lab.serving.model import Flaw
from tests.gates.harness import Virtual
from tests.serving.experiment import site, terms

LIMITS = held_alone(terms("G2.6.1"), site(), stores=True)
RULES = LIMITS.rules
TRIAL = alone(
    site(), site().local, 8, RULES.rounds, RULES.step_percent, RULES.one_void_in,
    sure=RULES.sure_percent, at_most=int(terms("G2.6.1")["most_rounds"]),
)  # fmt: skip


def made(folder: Path, *flaws: Flaw) -> Measured[Alone]:
    hosts = {host.name: host for host in build()}
    computed = hosts["node-01"].machine.computed
    assert isinstance(computed, LoadHost)
    assert computed.serving is not None
    computed.serving.flaws = flaws
    with Evidence.create(folder, "run", {"gate": "G2"}) as evidence:
        Trials([TRIAL], Virtual(hosts), Answers(evidence), "kvgate:test").run()
        return Tried(replay(evidence)).measured(TRIAL)


@pytest.mark.parametrize("kind", ["link-bounces", "reboots"])
@pytest.mark.parametrize("number", [1, 3])
def test_one_void_round_of_three_is_made_up_for_and_stays_in_the_verdict(
    tmp_path: Path, kind: str, number: int
) -> None:
    found = made(tmp_path, Flaw(kind, "local", rounds=(number,)))
    assert len(found.voided) == 1
    assert len(found.facts) >= 4
    verdict = standing.stands(found, site(), LIMITS)
    assert verdict.outcome is Outcome.PASS, verdict
    assert "a void round" in str(verdict.note)
    assert f"over {len(found.facts)} rounds" in str(verdict.measured)


def test_two_void_rounds_of_three_are_not_and_both_are_told(tmp_path: Path) -> None:
    with pytest.raises(CannotTell, match="2 rounds are void") as told:
        made(tmp_path, Flaw("link-bounces", "local", rounds=(1, 3)))
    assert str(told.value).count("went down") == 2


def test_an_engine_that_starts_anew_voids_no_round(tmp_path: Path) -> None:
    """It may have died of what it was measured with: a round that is made again would hide that."""
    found = made(tmp_path, Flaw("engine-restarts", "local", rounds=(2,)))
    assert not found.voided
    verdict = standing.stands(found, site(), LIMITS)
    assert verdict.outcome is Outcome.UNDECIDED
    assert "round 2" in str(verdict.note)
