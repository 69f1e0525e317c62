"""A waiver counts when both parties signed it, until its day, for the very verdicts it names; it never makes a pass of one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from checks.phrase import say
from checks.verdict import Outcome
from kvgate.campaign import statements, waivers
from kvgate.certificates.envelope import seal
from kvgate.errors import NotAllowed, OutOfOrder
from kvgate.ledger.rows import RunRecord
from tests.campaign.sample import ABOVE, BAD, DISK, FIRST, GOOD, HOST, UNTOLD, Site

ONE = f"{DISK}:{FIRST}"


def outcome(site: Site, run: RunRecord) -> Outcome:
    return next(one.outcome for one in site.campaign().attempts if one.run.id == run.id)


def test_a_waived_stop_opens_the_next_gate_and_stays_a_stop(site: Site) -> None:
    run = site.run("G1", {ONE: BAD})
    site.waive(run, f"G1.{DISK}", subject=FIRST)
    assert outcome(site, run) is Outcome.PASS
    assert site.ledger.outcome(run).outcome is Outcome.STOP
    entries = site.ledger.decisions(run)
    assert [(one.kind, one.outcome) for one in entries] == [("decided", Outcome.STOP), ("waived", Outcome.PASS)]
    assert [row.verdict.outcome for item, row in site.ledger.recorded(run).items() if item.subject == FIRST] == [
        Outcome.STOP
    ]
    assert site.ledger.check() == []
    assert site.why("G2") == ["unsigned"]
    site.certify(run)
    assert site.why("G2") == []
    certificate = site.campaign().attempts[0].certified.certificate
    assert certificate is not None
    assert [(one.clause, one.subject) for one in certificate.predicate.waivers] == [(f"G1.{DISK}", FIRST)]
    assert [one.outcome for one in certificate.predicate.clauses if one.waiver] == ["STOP"]
    assert site.run("G2").gate == "G2"


@pytest.mark.parametrize("parties", [("vendor",), ("customer",)])
def test_a_half_signed_waiver_has_no_effect(site: Site, parties: tuple[str, ...]) -> None:
    run = site.run("G1", {ONE: BAD})
    site.waive(run, f"G1.{DISK}", *parties)
    assert outcome(site, run) is Outcome.STOP
    assert len(site.ledger.decisions(run)) == 1
    assert site.campaign().attempts[0].waivers[0].why == say("signed by {party} only", party=parties[0])
    assert site.why("G1") == ["stopped"]


def test_a_waiver_that_ran_out_has_no_effect_and_the_stop_is_back(site: Site) -> None:
    run = site.run("G1", {ONE: BAD})
    site.waive(run, f"G1.{DISK}", days=10)
    site.certify(run)
    last = site.campaign().attempts[0].waivers[0].ends
    site.at = last - timedelta(seconds=1)
    assert site.why("G2") == []
    site.at = last
    assert outcome(site, run) is Outcome.STOP
    assert site.why("G2") == ["stopped", "missing"]


def test_a_stop_that_the_gate_has_passed_since_does_not_come_back(site: Site) -> None:
    site.waive(site.run("G1", {ONE: BAD}), f"G1.{DISK}", days=10)
    site.passed("G1")
    site.at = datetime.now(UTC) + timedelta(days=11)
    assert site.why("G2") == []


def test_what_could_not_be_read_cannot_be_waived(site: Site) -> None:
    run = site.run("G1", {DISK: UNTOLD})
    with pytest.raises(NotAllowed, match=r"could not be told \(nvme is not installed\).*--only-stale"):
        site.waive(run, f"G1.{DISK}")


def test_what_was_measured_and_only_must_be_explained_can(site: Site) -> None:
    run = site.run("G1", {HOST: ABOVE})
    assert site.why("G2") == ["missing"]
    site.waive(run, f"G1.{HOST}")
    assert outcome(site, run) is Outcome.PASS
    site.certify(run)
    assert site.why("G2") == []


def test_what_is_not_covered_keeps_the_gate_shut(site: Site) -> None:
    run = site.run("G1", {ONE: BAD, HOST: UNTOLD})
    site.waive(run, f"G1.{DISK}")
    assert outcome(site, run) is Outcome.UNDECIDED
    assert site.why("G2") == ["missing"]
    two = site.run("G1", {DISK: BAD})
    site.waive(two, f"G1.{DISK}", subject=FIRST)
    assert outcome(site, two) is Outcome.STOP


def test_a_gate_of_which_all_is_waived_is_not_passed(site: Site) -> None:
    run = site.run("G1", {DISK: BAD, HOST: BAD})
    site.waive(run, f"G1.{DISK}")
    site.waive(run, f"G1.{HOST}")
    assert outcome(site, run) is Outcome.UNDECIDED


def test_two_waivers_of_one_run_add_up(site: Site) -> None:
    run = site.run("G1", {ONE: BAD, f"{HOST}:node-01": BAD})
    site.waive(run, f"G1.{DISK}")
    assert outcome(site, run) is Outcome.STOP
    site.waive(run, f"G1.{HOST}")
    assert outcome(site, run) is Outcome.PASS
    assert [entry.outcome for entry in site.ledger.decisions(run)] == [Outcome.STOP, Outcome.STOP, Outcome.PASS]


def test_a_waiver_of_one_run_says_nothing_about_the_next(site: Site) -> None:
    site.waive(site.run("G1", {ONE: BAD}), f"G1.{DISK}")
    again = site.run("G1", {ONE: BAD})
    assert outcome(site, again) is Outcome.STOP
    with pytest.raises(OutOfOrder, match="STOP of G1"):
        site.begin("G1")


def test_a_signed_waiver_that_the_decision_log_does_not_name_has_no_effect(site: Site) -> None:
    run = site.run("G1", {ONE: BAD})
    proposed = waivers.propose(site.ledger, run, f"G1.{DISK}", None, "agreed", site.now.date(), site.now)
    site.keep(statements.WAIVER, proposed, "vendor", "customer", run=run.id)
    assert outcome(site, run) is Outcome.STOP
    assert "decision log" in str(site.campaign().attempts[0].waivers[0].why)


@pytest.mark.parametrize("field, value", [("verdict", "0" * 64), ("subject", "fx100-a:OTHER"), ("clause", "G1.9.9")])
def test_a_waiver_about_a_verdict_that_was_another_has_no_effect(site: Site, field: str, value: str) -> None:
    run = site.run("G1", {ONE: BAD})
    statement = waivers.propose(site.ledger, run, f"G1.{DISK}", None, "agreed", site.now.date(), site.now).statement()
    statement["predicate"]["deviations"][0][field] = value  # type: ignore[index]
    site.keep(statements.WAIVER, seal(statement), "vendor", "customer", run=run.id)
    assert waivers.settle(site.ledger, run, site.documents()) is None
    assert outcome(site, run) is Outcome.STOP


def test_a_waiver_that_claims_to_accept_what_was_not_told_has_no_effect(site: Site) -> None:
    run = site.run("G1", {HOST: ABOVE, ONE: UNTOLD})
    statement = waivers.propose(site.ledger, run, f"G1.{HOST}", None, "agreed", site.now.date(), site.now).statement()
    forged = statement["predicate"]["deviations"][0]  # type: ignore[index]
    forged |= {"clause": f"G1.{DISK}", "subject": FIRST, "verdict": waivers.verdict_digest(UNTOLD)}
    site.keep(statements.WAIVER, seal(statement), "vendor", "customer", run=run.id)
    assert waivers.settle(site.ledger, run, site.documents()) is None
    assert "cannot be waived" in str(site.campaign().attempts[0].waivers[0].why)


@pytest.mark.parametrize(
    "change", [{"until": "2026-02-30"}, {"until": "soon"}, {"more": 1}, {"deviations": []}, {"attempt": "1"}]
)
def test_a_waiver_that_cannot_be_read_is_named_and_has_no_effect(site: Site, change: dict[str, object]) -> None:
    run = site.run("G1", {ONE: BAD})
    statement = waivers.propose(site.ledger, run, f"G1.{DISK}", None, "agreed", site.now.date(), site.now).statement()
    statement["predicate"] |= change  # type: ignore[operator]
    site.keep(statements.WAIVER, seal(statement), "vendor", "customer", run=run.id)
    assert outcome(site, run) is Outcome.STOP
    assert len(site.documents().problems) == 1


@pytest.mark.parametrize(
    "clause, subject, days, why",
    [
        (f"G1.{HOST}", None, 5, "passed in run"),
        ("G1.9.9", None, 5, "has no verdict of G1.9.9"),
        (f"G1.{DISK}", "fx100-a:OTHER", 5, "on fx100-a:OTHER"),
        (f"G1.{DISK}", None, -1, "which is over"),
    ],
)
def test_what_cannot_be_waived_is_refused_with_why(
    site: Site, clause: str, subject: str | None, days: int, why: str
) -> None:
    run = site.run("G1", {DISK: BAD})
    with pytest.raises(NotAllowed, match=why):
        site.waive(run, clause, subject=subject, days=days)


def test_a_run_that_is_not_decided_is_finished_first(site: Site) -> None:
    run = site.interrupted("G1", {DISK: BAD})
    with pytest.raises(NotAllowed, match="not decided: finish it first"):
        site.waive(run, f"G1.{DISK}")


def test_a_verdict_says_whether_it_may_be_accepted() -> None:
    assert [waivers.may_be_waived(one) for one in (BAD, ABOVE, UNTOLD, GOOD)] == [True, True, False, False]
