"""What the gate before measured comes into a run's own evidence once, from the run that opened it, and is read there alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from checks.phrase import say
from checks.verdict import Outcome, Quantity, Verdict
from kvgate.errors import Damaged
from kvgate.evidence.store import Evidence
from kvgate.gate.baseline import BASELINE, Baseline
from kvgate.ledger.rows import RunRecord
from tests.campaign.sample import BAD, DISK, FIRST, Site


def measured(value: float) -> Verdict:
    return Verdict(Outcome.PASS, say("10 s"), say("any"), quantities=(Quantity("TTFT p50", value, "s"),))


def passed(site: Site, value: float) -> RunRecord:
    """A G2 that measured this and is certified."""
    run = site.run("G2", {DISK: measured(value)})
    site.certify(run)
    return run


def told(found: Verdict | None) -> list[float]:
    return [] if found is None else [one.value for one in found.quantities]


def test_g3_takes_the_numbers_of_the_run_that_opened_it(site: Site) -> None:
    site.passed("G1")
    passed(site, 10.0)
    session = site.begin("G3")
    assert session.evidence is not None
    baseline = Baseline(session.evidence)
    assert told(baseline(f"G2.{DISK}", FIRST)) == [10.0]
    assert baseline("G2.1.1", "node-01") is None  # it passed, and measured nothing
    assert baseline(f"G2.{DISK}", "another disk") is None


def test_a_later_attempt_that_nobody_certified_is_no_baseline(site: Site) -> None:
    site.passed("G1")
    passed(site, 10.0)
    site.run("G2", {DISK: measured(20.0)})
    session = site.begin("G3")
    assert session.evidence is not None
    assert told(Baseline(session.evidence)(f"G2.{DISK}", FIRST)) == [10.0]


def test_a_run_that_goes_on_keeps_the_baseline_that_it_began_with(site: Site) -> None:
    site.passed("G1")
    run = passed(site, 10.0)
    session = site.begin("G3")
    assert session.evidence is not None
    session.evidence.close()
    again = site.begin("G3", only_stale=True)
    assert again.evidence is not None
    notes = again.evidence.notes(BASELINE)
    assert [(one["gate"], one["run"], one["count"]) for one in notes] == [("G2", run.id, notes[0]["count"])]


def test_what_a_waiver_let_pass_has_no_number_to_compare_with(site: Site) -> None:
    site.passed("G1")
    run = site.run("G2", {DISK: measured(10.0), f"{DISK}:{FIRST}": BAD})
    site.waive(run, f"G2.{DISK}")
    site.certify(run)
    session = site.begin("G3")
    assert session.evidence is not None
    assert Baseline(session.evidence)(f"G2.{DISK}", FIRST) is None


def test_no_other_gate_takes_one(site: Site) -> None:
    site.passed("G1")
    session = site.begin("G2")
    assert session.evidence is not None
    assert session.evidence.notes(BASELINE) == []
    assert Baseline(session.evidence)(f"G1.{DISK}", FIRST) is None
    assert Baseline(None)(f"G1.{DISK}", FIRST) is None


@pytest.mark.parametrize(
    "rows", [b"", b"[]", b'{"verdicts": 3}', b'{"verdicts": [["G2.6.1"]]}', b'{"verdicts": [["a", "b", {}]]}']
)
def test_a_baseline_that_cannot_be_read_is_none(tmp_path: Path, rows: bytes) -> None:
    with Evidence.create(tmp_path, "run-1", {"gate": "G3"}) as evidence:
        evidence.note(BASELINE, gate="G2", rows=rows)
        with pytest.raises(Damaged, match="baseline"):
            Baseline(evidence)("G2.6.1", "tp8/c8")
