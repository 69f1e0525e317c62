"""The soak of twenty minutes beside the runbooks: judged and drawn as when it was kept, and passing nothing that it did not see."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from checks.soak import integrity
from checks.soak.accounting import State
from checks.verdict import Outcome
from kvgate.reports.messages import Reader
from kvgate.reports.sections.soak import sections
from kvgate.reports.still import picture
from tests.soak.example import FOLDER, judged, soaks


def test_it_is_judged_as_when_it_was_kept() -> None:
    assert judged() == json.loads((FOLDER / "expected.json").read_text("utf-8"))


def test_it_ran_at_its_own_speed_and_every_minute_is_accounted_for() -> None:
    for soak in soaks().values():
        assert soak.plan.scale == 1
        assert soak.account.ended == "planned"
        assert soak.account.planned == soak.account.minutes(State.RUNNING, State.SCHEDULED) == 20


def test_what_nobody_saw_does_not_pass() -> None:
    outcomes = {(one["clause"], one["subject"]): one["outcome"] for one in judged()}
    assert "STOP" not in outcomes.values()
    for clause in ("G4.1.4", "G4.2.1", "G4.2.6", "G4.3.4", "G4.4.4"):
        assert outcomes[clause, "node-01"] == "UNDECIDED"
    assert {outcomes[clause, "rack"] for clause in ("G4.2.9", "G4.2.11", "G4.4.1", "G4.4.2", "G4.4.3")} == {"PASS"}


@pytest.mark.parametrize(
    ("since", "words", "outcome"),
    [
        (2, "and from here on words of somebody else", Outcome.UNDECIDED),
        (3, "and from here on words of somebody else", Outcome.UNDECIDED),
        (3, "the the the the the the the the the the the the", Outcome.STOP),
    ],
)
def test_canaries_that_are_answered_otherwise_never_pass(since: int, words: str, outcome: Outcome) -> None:
    """It may be the engine's own noise or stored KV that is wrong: nothing was computed twice. Garbled answers are no noise."""
    soak, loads, round_ = soaks()["node-01"], [], 0
    for one in soak.loads:
        if one.name == "canary" and one.what == "end":
            round_ += 1
            document = json.loads(str(one.fields["stdout"]))
            place = document["columns"].index("output")
            for row in document["requests"] if round_ >= since else ():
                row[place] = f"{row[place].split()[0]} {words}"
            one = replace(one, fields={**one.fields, "stdout": json.dumps(document)})
        loads.append(one)
    found = integrity.answers_kept({"node-01": replace(soak, loads=tuple(loads))}, "canary", 3)
    assert found.outcome is outcome, f"{found.measured} {found.note}"


def test_its_report_and_its_picture_are_drawn() -> None:
    drawn = picture(soaks(), Reader("en"))
    assert all(host.encode() in drawn for host in soaks())
    assert len(drawn) < 100_000
    assert (FOLDER / "soak.svg").read_bytes().startswith(b"<?xml")
    titles = [section.title for section in sections(soaks(), Reader("zh"))]
    assert len(titles) >= 5
