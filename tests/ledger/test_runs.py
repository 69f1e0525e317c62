"""A run is written before it looks, and decided only when everything reads back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from checks.decision import Owed, decide
from checks.phrase import say
from checks.verdict import Outcome, Quantity, Verdict
from kvgate.codec import Seal, digest
from kvgate.errors import NotAllowed, Unwritable
from kvgate.ledger.repository import Ledger, VerdictRow
from tests.ledger.sample import ACCEPTANCE, BAD, GOOD, OPEN, OWED, begin, complete, decision, rows


def test_what_is_owed_stands_before_anything_is_asked(ledger: Ledger) -> None:
    run = begin(ledger)
    assert ledger.owed(run) == list(OWED)
    assert ledger.run(run.id).state == "started"
    assert ledger.outcome(run).outcome is Outcome.UNDECIDED
    assert ledger.outcome(run).missing == OWED
    assert run.evidence == str(Path("var/evidence") / run.id)
    assert json.loads(run.ticket)["nonce"] == run.nonce


@pytest.mark.parametrize(
    "verdicts, outcome",
    [
        ((GOOD, GOOD, GOOD, GOOD), Outcome.PASS),
        ((GOOD, GOOD, GOOD, BAD), Outcome.PASS),
        ((GOOD, BAD, OPEN, GOOD), Outcome.STOP),
        ((GOOD, GOOD, OPEN, GOOD), Outcome.UNDECIDED),
        ((GOOD, GOOD), Outcome.UNDECIDED),
        ((), Outcome.UNDECIDED),
    ],
)
def test_a_decision_is_what_reads_back(ledger: Ledger, verdicts: tuple[Verdict, ...], outcome: Outcome) -> None:
    run, found = complete(ledger, *verdicts)
    assert found is outcome
    standing = ledger.outcome(run)
    assert (standing.outcome, standing.decided, standing.problems) == (outcome, True, ())
    record = ledger.run(run.id)
    assert record.state == "decided"
    assert record.ended is not None
    assert record.ended >= record.started
    assert ledger.check() == []


def test_verdicts_come_back_as_they_were(ledger: Ledger) -> None:
    run = begin(ledger)
    strange = Verdict.of(
        False,
        say("{a}\0 \ud800 {b} {c}", a=float("nan"), b=True, c=say("{x}", x=1.0)),
        "",
        quantities=(Quantity("t", float("inf"), "s"),),
    )
    given = [VerdictRow(*OWED[0][:2], strange, (1, 7, 900), "declared", "ToolMissing"), VerdictRow(*OWED[1][:2], GOOD)]
    ledger.record(run, given)
    first, second = ledger.verdicts(run)
    assert repr(first.verdict) == repr(strange)
    assert (first.evidence, first.basis, first.reason) == ((1, 7, 900), "declared", "ToolMissing")
    assert (second.verdict, second.evidence, second.basis) == (GOOD, (), "measured")
    assert ledger.check() == []


def test_a_decision_that_the_rows_do_not_bear_out_is_refused(ledger: Ledger) -> None:
    run = begin(ledger)
    ledger.record(run, rows(GOOD, BAD, GOOD))
    with pytest.raises(Unwritable, match=r"G1\.2\.3 on fx100-a:S1 is PASS, but STOP reads back"):
        ledger.finish(run, decision(GOOD, GOOD, GOOD, GOOD))
    with pytest.raises(Unwritable, match=r"G1\.9\.1 on rack is PASS, but no row of it was recorded"):
        ledger.finish(run, decision(GOOD, BAD, GOOD, GOOD))
    with pytest.raises(Unwritable, match="is not in the decision"):
        ledger.finish(run, decide(OWED[:1], {OWED[0]: GOOD}))
    advisory = [owed._replace(blocking=False) for owed in OWED]
    lenient = decide(advisory, dict(zip(advisory, (GOOD, BAD, GOOD), strict=False)))
    with pytest.raises(Unwritable, match="owes something else"):
        ledger.finish(run, lenient)
    assert ledger.run(run.id).state == "started"
    assert ledger.decisions() == []
    assert ledger.finish(run, decision(GOOD, BAD, GOOD)) is Outcome.STOP


def test_a_verdict_that_nobody_owes_is_refused_with_all_its_company(ledger: Ledger) -> None:
    run = begin(ledger)
    with pytest.raises(ValueError, match="does not owe"):
        ledger.record(run, [*rows(GOOD), VerdictRow("G1.1.1", "node-99", GOOD)])
    assert ledger.verdicts(run) == []


def test_what_came_to_pass_or_stop_takes_no_more(ledger: Ledger) -> None:
    for verdicts in ((GOOD,) * 4, (BAD,) * 4):
        run, _ = complete(ledger, *verdicts)
        with pytest.raises(Unwritable, match="start a new attempt"):
            ledger.record(run, rows(GOOD))
        with pytest.raises(Unwritable, match="start a new attempt"):
            ledger.finish(run, decision(*verdicts))
        with pytest.raises(Unwritable, match="start a new attempt"):
            ledger.interrupt(run, "late")


def test_an_interrupted_run_is_undecided_even_with_every_verdict(ledger: Ledger) -> None:
    run = begin(ledger)
    ledger.record(run, rows(GOOD, BAD, GOOD, GOOD))
    ledger.interrupt(run, "Ctrl-C while the hosts were asked")
    record = ledger.run(run.id)
    assert (record.state, record.why) == ("interrupted", "Ctrl-C while the hosts were asked")
    assert ledger.outcome(run).outcome is Outcome.UNDECIDED
    assert ledger.outcome(run).problems == ()
    assert ledger.check() == []


def test_an_unfinished_run_is_taken_up_again(ledger: Ledger) -> None:
    assert ledger.unfinished("fx100", "G1") is None
    run = begin(ledger)
    assert ledger.stale(run) == list(OWED)
    ledger.record(run, rows(GOOD, OPEN))
    ledger.interrupt(run, "the link was lost")
    found = ledger.unfinished("fx100", "G1")
    assert found is not None
    assert found.id == run.id
    assert ledger.stale(found) == list(OWED[1:])
    ledger.record(found, rows(GOOD, OPEN, GOOD, GOOD)[1:])
    assert ledger.finish(found, decision(GOOD, OPEN, GOOD, GOOD)) is Outcome.UNDECIDED
    assert ledger.unfinished("fx100", "G1") is not None
    assert ledger.stale(found) == [OWED[1]]
    ledger.interrupt(found, "Ctrl-C")
    assert ledger.outcome(found).problems == ()
    ledger.record(found, rows(GOOD, GOOD)[1:])
    assert ledger.finish(found, decision(GOOD, GOOD, GOOD, GOOD)) is Outcome.PASS
    assert ledger.unfinished("fx100", "G1") is None
    assert len(ledger.verdicts(found)) == 6
    assert [entry.kind for entry in ledger.decisions(found)] == ["interrupted", "decided", "interrupted", "decided"]
    assert ledger.check() == []


def test_a_finished_attempt_hides_no_unfinished_one_before_it(ledger: Ledger) -> None:
    begin(ledger)
    complete(ledger, GOOD, GOOD, GOOD, GOOD)
    assert ledger.unfinished("fx100", "G1") is None
    assert [run.state for run in ledger.runs("fx100", "G1")] == ["started", "decided"]


def test_a_second_judgement_stands_beside_the_first(ledger: Ledger) -> None:
    run, _ = complete(ledger, GOOD, GOOD, GOOD, GOOD)
    ledger.record(run, rows(BAD, GOOD, GOOD, GOOD), judgement=2)
    assert ledger.finish(run, decision(BAD, GOOD, GOOD, GOOD), judgement=2) is Outcome.STOP
    assert ledger.outcome(run).outcome is Outcome.PASS
    assert [(entry.judgement, entry.outcome) for entry in ledger.decisions(run)] == [
        (1, Outcome.PASS),
        (2, Outcome.STOP),
    ]
    assert ledger.check() == []


def test_attempts_count_up_for_each_gate_of_each_campaign(ledger: Ledger) -> None:
    made = [begin(ledger), begin(ledger), begin(ledger, gate="G2"), begin(ledger, campaign="other"), begin(ledger)]
    assert [run.attempt for run in made] == [1, 2, 1, 1, 3]
    assert [run.seq for run in made] == [1, 2, 3, 4, 5]
    assert [run.id for run in ledger.runs("fx100", "G1")] == [made[0].id, made[1].id, made[4].id]
    assert [run.id for run in ledger.runs()] == [run.id for run in made]


def test_a_changed_agreement_opens_a_revision_that_is_seen(ledger: Ledger) -> None:
    other = json.dumps({"clauses": {"G1.1.1": 1}}, separators=(",", ":"))
    made = [
        begin(ledger),
        begin(ledger),
        begin(ledger, acceptance=other, acceptance_digest=digest(other)),
        begin(ledger),
    ]
    assert [run.revision for run in made] == [1, 1, 2, 3]
    assert [(found.number, found.content) for found in ledger.revisions("fx100")] == [
        (1, ACCEPTANCE),
        (2, other),
        (3, ACCEPTANCE),
    ]
    assert begin(ledger, campaign="other").revision == 1
    assert ledger.check() == []


def test_a_run_is_found_by_the_beginning_of_its_id(ledger: Ledger) -> None:
    run, other = begin(ledger), begin(ledger)
    assert ledger.run(run.id[:-1]).id == run.id
    assert ledger.run(other.id).id == other.id
    with pytest.raises(NotAllowed, match="2 runs"):
        ledger.run("2")
    for nobody in ("%", "nothing", "_"):
        with pytest.raises(NotAllowed, match="no run"):
            ledger.run(nobody)


def test_a_run_that_owes_nothing_or_one_thing_twice_never_begins(ledger: Ledger) -> None:
    for owed in ((), (OWED[0], OWED[0])):
        with pytest.raises(ValueError, match="owe"):
            begin(ledger, owed=owed)
    with pytest.raises(Unwritable):
        begin(ledger, owed=(OWED[0], Owed(*OWED[0][:2], False)))
    assert ledger.runs() == []


def test_decisions_are_a_chain_with_the_seal_of_the_evidence(ledger: Ledger) -> None:
    first, _ = complete(ledger, GOOD, GOOD, GOOD, GOOD)
    second = begin(ledger)
    assert second.prev == ledger.decisions(first)[0].hash == ledger.head()[1]
    ledger.record(second, rows(BAD))
    ledger.finish(second, decision(BAD), seal=Seal(17, "a" * 64, "b" * 64))
    one, two = ledger.decisions()
    assert (two.seq, two.prev) == (2, one.hash)
    assert (two.evidence_lines, two.evidence_head, two.evidence_root) == (17, "a" * 64, "b" * 64)
    assert digest(two.content) == two.hash
    content = json.loads(two.content)
    assert (content["ticket"], content["outcome"], content["evidence"]["lines"]) == (second.ticket_digest, "STOP", 17)
    assert (two.passed, two.stopped, two.undecided) == (0, 1, 2)


def test_nine_hundred_verdicts_are_decided_at_once(ledger: Ledger) -> None:
    owed = [Owed(f"G1.2.{place % 30}", f"node-{place // 30:02}", True) for place in range(900)]
    run = begin(ledger, owed=owed)
    ledger.record(run, [VerdictRow(item.clause, item.subject, GOOD, (1, 2)) for item in owed])
    assert ledger.finish(run, decide(owed, dict.fromkeys(owed, GOOD))) is Outcome.PASS
