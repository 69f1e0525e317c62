"""The start ticket is signed before the first question where a key is configured, and said not to be where none is."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from checks.verdict import Outcome
from kvgate.campaign import statements, tickets
from kvgate.certificates import decision, ticket, ticketed
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.code import code_digest
from kvgate.certificates.issue import Ticket
from kvgate.certificates.ticket import StartTicket
from kvgate.errors import NotAllowed, OutOfOrder, Unproven
from kvgate.gate.session import GateSession
from kvgate.gate.start import begin
from tests.campaign.sample import BAD, Site
from tests.certificates.conftest import Keys
from tests.invoking import invoked

#: A run that nobody signs.
UNSIGNED = {"key": None, "party": None}


def closed(session: GateSession) -> None:
    """Let go of the evidence, as the end of the process does."""
    assert session.evidence is not None
    session.evidence.close()


def test_a_ticket_carries_what_was_fixed_before_the_first_question(site: Site) -> None:
    run = site.run("G1", **site.key("vendor"))
    (kept,) = site.ledger.envelopes(kind=statements.TICKET)
    said = statements.read(envelopes.read(kept.content), statements.TICKET, StartTicket)
    assert (said.run, said.sequence, said.attempt, said.nonce) == (run.id, run.seq, 1, run.nonce)
    assert (said.inventory, said.acceptance, said.ticket) == (
        run.inventory_digest,
        run.acceptance_digest,
        run.ticket_digest,
    )
    assert said.code == code_digest()
    assert site.campaign().attempts[0].ticket == "vendor"


def test_a_run_without_a_key_says_that_its_ticket_is_not_signed(site: Site) -> None:
    site.run("G1", **UNSIGNED)
    assert site.campaign().attempts[0].ticket is None
    assert begin(site.prepared("G1", **UNSIGNED)).unsigned
    assert not site.campaign().attempts[0].countable


def test_a_key_that_is_not_the_party_s_starts_nothing(site: Site) -> None:
    with pytest.raises(Unproven, match=r"is customer's in .*, not vendor's"):
        site.begin("G1", key=site.key("customer")["key"], party="vendor")
    assert site.ledger.runs() == []


@pytest.mark.parametrize(
    "options, why", [({"party": "vendor"}, "--party says whose"), ({"key": Path("x")}, "say whose it is")]
)
def test_key_and_party_belong_together(site: Site, options: dict[str, object], why: str) -> None:
    with pytest.raises(NotAllowed, match=why):
        site.begin("G1", **options)


def test_a_key_with_a_passphrase_wants_the_agent(site: Site) -> None:
    locked = site.vendor.write(site.folder / "locked", passphrase=b"secret")
    locked.with_name("locked.pub").unlink()
    with pytest.raises(NotAllowed, match="ssh-add"):
        site.begin("G1", key=locked, party="vendor")
    assert site.ledger.runs() == []


def test_a_ticket_that_a_stranger_signed_is_no_signed_ticket(site: Site) -> None:
    site.run("G1", **site.key("vendor"))
    site.vendor = Keys(Ed25519PrivateKey.generate())
    assert site.campaign().attempts[0].ticket is None


@pytest.mark.parametrize("party", ["vendor", "customer"])
def test_the_certificate_carries_the_signed_ticket_and_says_whose_it_is(site: Site, party: str) -> None:
    run = site.run("G1", **site.key(party))
    site.certify(run)
    certificate = site.campaign().attempts[0].certified.certificate
    assert certificate is not None
    found = certificate.predicate
    assert found.ticket_signed_by == party
    assert found.start_ticket is not None
    assert ticket.read(ticket.envelope_of(found.start_ticket)).nonce == run.nonce
    assert ticketed.weighed(found, site.trust, site.now)[0] is Outcome.PASS


def test_a_pass_that_was_started_unsigned_is_not_certified_and_opens_nothing(site: Site) -> None:
    run = site.run("G1", **UNSIGNED)
    with pytest.raises(NotAllowed, match=r"no party signed its start ticket .* --key FILE --party NAME"):
        site.certify(run)
    (obstacle,) = site.opening("G2").obstacles
    assert obstacle.kind == "unsigned"
    assert "no party signed its start ticket" in str(obstacle.why)
    assert "--key FILE --party NAME" in str(obstacle.do)


def test_a_deviation_does_not_make_a_pass_of_an_unsigned_run(site: Site) -> None:
    run = site.run("G1", {"2.3": BAD}, **UNSIGNED)
    site.waive(run, "G1.2.3")
    with pytest.raises(NotAllowed, match="no party signed its start ticket"):
        site.certify(run)


def test_a_stop_is_certified_unsigned(site: Site) -> None:
    run = site.run("G1", {"2.3": BAD}, **UNSIGNED)
    site.certify(run)
    (kept,) = site.ledger.envelopes(kind="certificate")
    found = decision.read(envelopes.read(kept.content)).predicate
    assert (found.decision, found.start_ticket, found.ticket_signed_by) == ("STOP", None, "")
    assert ticketed.weighed(found, site.trust, site.now)[0] is Outcome.PASS


def test_a_pass_whose_ticket_a_stranger_signed_is_not_certified(site: Site) -> None:
    run = site.run("G1")
    site.vendor = Keys(Ed25519PrivateKey.generate())
    with pytest.raises(NotAllowed, match="signed by no key of trust file that counts"):
        site.certify(run)


def test_without_a_trust_file_the_key_that_certifies_is_known_and_no_other(site: Site) -> None:
    run = site.run("G1")

    def found(party: str) -> object:
        keys: Keys = getattr(site, party)
        return tickets.to_certify(site.ledger, run, None, site.now, party, keys.signer.public)

    assert isinstance(found("vendor"), Ticket)
    assert "name your trust file" in str(found("customer"))


@pytest.mark.parametrize("gate", ["G2", "G3", "G4"])
def test_a_gate_after_the_first_does_not_start_unsigned(site: Site, gate: str) -> None:
    for before in ("G1", "G2", "G3")[: int(gate[1]) - 1]:
        site.passed(before)
    runs = len(site.ledger.runs())
    with pytest.raises(OutOfOrder) as refused:
        site.begin(gate, **UNSIGNED)
    ((why, do),) = refused.value.reasons
    assert "nobody would sign its start ticket" in str(why)
    assert "KVGATE_KEY" in str(do)
    assert len(site.ledger.runs()) == runs
    assert site.begin(gate).run.gate == gate


def test_a_signed_run_goes_on_without_the_key_and_an_unsigned_one_does_not(site: Site) -> None:
    site.passed("G1")
    closed(site.begin("G2"))
    again = begin(site.prepared("G2", only_stale=True, **UNSIGNED))
    assert not again.unsigned
    closed(again.session)
    with sqlite3.connect(site.folder / "kvgate.db") as database:
        database.execute("DROP TRIGGER envelope_no_delete")
        database.execute("DELETE FROM envelope WHERE kind = 'ticket'")
    with pytest.raises(OutOfOrder, match="begun without a signed start ticket"):
        begin(site.prepared("G2", only_stale=True, **site.key()))


def test_what_was_remarked_in_a_run_is_kept_with_it_and_shown(site: Site) -> None:
    session = site.begin("G1")
    site.judge(session, {})
    session.remarks += ["node-01: the worker was refused: [bold]disk full[/bold]"] * 2
    session.finish()
    run = site.last()
    assert (site.ledger.outcome(run).outcome, run.why) == (
        Outcome.PASS,
        "node-01: the worker was refused: [bold]disk full[/bold]",
    )
    shown = invoked("show", run.id, "--ledger", site.url)
    assert f"! {run.why}" in shown.stdout.splitlines()
