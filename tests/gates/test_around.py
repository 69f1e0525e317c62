"""What stood around the rounds is named in the verdicts of every kind of load, and where it was not seen nothing is said of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from checks.verdict import Outcome
from kvgate.evidence.store import Evidence
from kvgate.gate.answers import Answers
from kvgate.gate.collect import replay
from kvgate.gate.trials import Trials
from kvgate.gate.tried import AROUND, Tried, hidden
from kvgate.transport.local import LocalTransport
from tests.gates.harness import judge
from tests.gates.test_trials import HOST, load, trial


def throttled(times: int) -> str:
    return f"node-01: its processor was throttled for heat {times} times"


@pytest.mark.parametrize(
    ("fault", "clause", "causes"),
    [
        ("node-throttles", r"G2\.1\.4", (throttled(18), "node-01: the processors' clock went from 3330 to 2664 MHz")),
        ("local-disk-throttles", r"G2\.1\.4", ("node-01: nvme0 went from 49 to 67 C",)),
        ("volume-link-flaps", r"G2\.1\.4", (
            "node-01: the link of ens1f0np0 went away or came back 5 times", "node-01: mlx5_0/1 counted 200 out_of_sequence",
        )),
        ("fabric-node-throttles", r"G2\.2\.1", (throttled(15),)),
        ("volume-unsteady", r"G2\.1\.4", ("nothing was seen that explains it", "looked at: clocks, throttling, links")),
    ],
)  # fmt: skip
def test_rounds_that_differ_name_what_stood_around_them(fault: str, clause: str, causes: tuple[str, ...]) -> None:
    result = judge([fault], gate="G2", only=clause)
    said = " ".join(result.why(clause.replace("\\", "")))
    assert [cause for cause in causes if cause not in said] == [], said
    assert fault == "volume-unsteady" or "nothing was seen" not in said


@pytest.mark.parametrize("clause", ["G2.1.8", "G2.2.1", "G2.3.1", "G2.4.1", "G2.5.1", "G2.6.2"])
def test_a_link_that_flapped_stands_beside_what_passed_all_the_same(clause: str) -> None:
    faults: tuple[tuple[str, ...], ...] = ((), ("volume-link-flaps",))
    for fault in faults:
        result = judge(fault, gate="G2", only=re.escape(clause), concurrencies=(8,))
        notes = [str(one.note) for one in result.verdicts.values() if one.outcome is Outcome.PASS]
        assert notes
        assert any("around the rounds: node-01: the link of ens1f0np0 went away" in note for note in notes) is bool(
            fault
        )


@pytest.mark.usefixtures("alone")
def test_every_round_of_every_trial_is_looked_around(tmp_path: Path) -> None:
    wanted = trial(load("echo", "1"), rounds=2)
    with Evidence.create(tmp_path, "run-1", {"gate": "G2"}) as evidence:
        answers = Answers(evidence)
        Trials([wanted], LocalTransport(), answers, "kvgate:test-1").run()
        tried = Tried(replay(evidence))
        found = tried.measured(wanted).around
        assert [set(one) for one in found] == [{HOST}, {HOST}]
        assert all(0 <= (one[HOST].busy or 0) <= 100 and one[HOST].after.ticks for one in found)
        looks = {tried.answers.place(HOST, hidden(wanted, number, moment)) for number in (1, 2) for moment in AROUND}
        assert looks < set(tried.numbers(wanted))
