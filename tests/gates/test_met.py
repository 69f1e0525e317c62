"""What a run says of a host that was met: clock and boot, or why they cannot be told and whether a person may answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.host import probes
from kvgate.errors import DECLARABLE, CannotTell
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers, Met
from kvgate.transport.base import Clock


@pytest.fixture
def answers(tmp_path: Path) -> Answers:
    return Answers(Evidence.create(tmp_path, "run-1", {"gate": "G1"}))


def met(boot: str, clock: Clock | None = None, at: float = 1.0) -> Met:
    return Met("SHA256:x", boot, clock, at)


def test_a_host_of_single_commands_leaves_its_clock_to_a_person(answers: Answers) -> None:
    """Else a rack with one closed array could never pass, whatever anybody answers for it."""
    answers.meet("array", 1, met(""))
    with pytest.raises(DECLARABLE):
        answers.clock("array")
    answers.meet("array", 2, met("", at=3.0))
    with pytest.raises(DECLARABLE):
        answers.seconds_between("array", probes.kernel())


def test_a_clock_that_was_set_or_a_host_that_was_not_met_is_left_to_nobody(answers: Answers) -> None:
    answers.meet("node", 1, met("boot-1"))
    for host in ("node", "stranger"):
        with pytest.raises(CannotTell) as caught:
            answers.clock(host)
        assert not isinstance(caught.value, DECLARABLE)


@pytest.mark.parametrize("boots", [("a", "b"), ("a", ""), ("", "a")])
def test_counters_of_two_boots_have_no_difference(answers: Answers, boots: tuple[str, str]) -> None:
    for sample, boot in enumerate(boots, 1):
        answers.meet("node", sample, met(boot, at=float(sample)))
    with pytest.raises(CannotTell) as caught:
        answers.seconds_between("node", probes.kernel())
    assert not isinstance(caught.value, DECLARABLE)


def test_counters_of_one_boot_have_one(answers: Answers) -> None:
    answers.meet("node", 1, met("a", Clock(-0.1, 0.2), 1.0))
    answers.meet("node", 2, met("a", at=3.5))
    assert answers.seconds_between("node", probes.kernel()) == 2.5
    assert answers.clock("node") == (-0.1, 0.2)
