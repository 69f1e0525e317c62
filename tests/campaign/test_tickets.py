"""The start ticket is signed before the first question where a key is configured, and said not to be where none is."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from kvgate.campaign import statements
from kvgate.campaign.statements import StartTicket
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.code import code_digest
from kvgate.errors import NotAllowed, Unproven
from tests.campaign.sample import Site
from tests.certificates.conftest import Keys


def key(site: Site, party: str) -> Path:
    keys: Keys = getattr(site, party)
    return keys.write(site.folder / party)


def test_a_ticket_carries_what_was_fixed_before_the_first_question(site: Site) -> None:
    run = site.run("G1", key=key(site, "vendor"), party="vendor")
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
    site.run("G1")
    assert site.campaign().attempts[0].ticket is None


def test_a_key_that_is_not_the_party_s_starts_nothing(site: Site) -> None:
    with pytest.raises(Unproven, match=r"is customer's in .*, not vendor's"):
        site.begin("G1", key=key(site, "customer"), party="vendor")
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
    site.run("G1", key=key(site, "vendor"), party="vendor")
    site.vendor = Keys(Ed25519PrivateKey.generate())
    assert site.campaign().attempts[0].ticket is None


@pytest.mark.parametrize("party, said", [("customer", "customer"), (None, "")])
def test_the_certificate_says_who_signed_the_ticket_and_when_nobody_did(
    site: Site, party: str | None, said: str
) -> None:
    run = site.run("G1", **({"key": key(site, party), "party": party} if party else {}))
    site.certify(run)
    certificate = site.campaign().attempts[0].certified.certificate
    assert certificate is not None
    assert certificate.predicate.ticket_signed_by == said
