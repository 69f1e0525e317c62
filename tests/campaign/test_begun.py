"""Soaks that were begun and came to no verdict stand in the overview and in the certificate of G4, whoever leaves them out."""

from __future__ import annotations

import json

from checks.soak.attempts import Start, Starts
from checks.verdict import Outcome
from kvgate.campaign import statements
from kvgate.certificates import decision
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.history import counted
from kvgate.certificates.soak_book import SoakBook, until
from kvgate.gate import starts as kept
from kvgate.reports import begun
from kvgate.reports.certificates import summary
from kvgate.reports.messages import Reader
from tests.campaign.sample import Site
from tests.invoking import invoked


def certified(site: Site) -> decision.Certificate:
    """A certificate of G4 after two soaks that were given up, and one before it that a run decided."""
    for gate in ("G1", "G2", "G3"):
        site.passed(gate)
    book = SoakBook(site.ledger, site.inventory, "tester", "0", signer=site.customer.signer, trust=site.trust)
    for name in ("soak-1", "soak-2"):
        book.write("start", name, {"node-01": "a" * 64})
        book.write("stop", name, {})
        book.write("remove", name, {})
    book.write("start", "soak-3", {"node-01": "b" * 64})
    run = site.run("G4")
    book.write("judge", "soak-3", {}, run=run.id)
    site.certify(run)
    book.write("start", "soak-4", {"node-01": "c" * 64})  # after it: not this certificate's matter
    kept = site.ledger.envelopes(kind="certificate", run=run.id)[-1]
    return decision.read(envelopes.read(kept.content))


def test_a_pass_names_every_soak_that_was_begun_before_without_a_verdict(site: Site) -> None:
    found = certified(site)
    said = found.predicate
    assert [(one.soak, one.judged, bool(one.removed)) for one in said.soaks] == [
        ("soak-1", False, True), ("soak-2", False, True), ("soak-3", True, False),
    ]  # fmt: skip
    assert counted(found, site.ledger).outcome is Outcome.PASS
    text = "\n".join(summary(found, Reader("en")))
    assert "soak soak-1 before it" in text
    assert "soak soak-3, started" in text
    shorter = found.model_copy(update={"predicate": said.model_copy(update={"soaks": said.soaks[1:]})})
    check = counted(shorter, site.ledger)
    assert check.outcome is Outcome.STOP
    assert "does not name soak soak-1" in str(check.found)
    other = said.soaks[0].model_copy(update={"soak": "soak-9"})
    more = found.model_copy(update={"predicate": said.model_copy(update={"soaks": (*said.soaks, other)})})
    assert "soak-9, which the ledger does not have" in str(counted(more, site.ledger).found)


def test_status_and_show_name_them(site: Site) -> None:
    run = certified(site).predicate.run
    told = invoked("status", "--ledger", site.url, "--campaign", site.inventory.rack.campaign, env={"LC_ALL": "C"})
    assert "2 soaks were begun and came to no verdict of G4" in told.stdout, told.output
    assert "soak-1: started" in told.stdout
    shown = invoked("show", run, "--ledger", site.url, env={"LC_ALL": "C"})
    assert "2 soaks were begun and came to no verdict of G4" in shown.stdout, shown.output
    rows = {
        one["soak"]: one for one in json.loads(invoked("show", run, "--json", "--ledger", site.url).stdout)["soaks"]
    }
    assert {name: one["abandoned"] for name, one in rows.items()} == {"soak-1": True, "soak-2": True, "soak-3": False}


def test_the_same_rack_under_another_name_counts_its_soaks_too(site: Site) -> None:
    renamed = Site(
        site.folder, site.vendor, site.customer, text=site.text.replace(site.inventory.rack.campaign, "renamed")
    )
    book = SoakBook(site.ledger, renamed.inventory, "tester", "0", signer=site.vendor.signer)
    book.write("start", "soak-1", {})
    book.write("stop", "soak-1", {})
    run = site.run("G1")
    assert [one.soak for one in until(site.ledger, run).abandoned("-")] == ["soak-1"]
    assert site.ledger.envelopes(kind=statements.TICKET)


def test_a_run_that_has_closed_its_evidence_still_names_them(site: Site) -> None:
    for gate in ("G1", "G2", "G3"):
        site.passed(gate)
    session = site.begin("G4")
    assert session.evidence is not None
    left = Start("soak-1", "2026-01-01T00:00:00.000000Z", stopped="2026-01-01T01:00:00.000000Z")
    kept.keep(session.evidence, Starts((left,), (), "soak-2"))
    site.judge(session, {})
    session.finish()
    session.close()
    told = "\n".join(begun.of_session(session, Reader("en")))
    assert "1 soak was begun and came to no verdict of G4" in told
    assert "soak-1: started 2026-01-01 00:00:00" in told
