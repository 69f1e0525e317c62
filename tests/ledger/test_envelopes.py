"""Signed documents are kept as their bytes, never changed, and found again."""

from __future__ import annotations

import pytest
from sqlalchemy.exc import DBAPIError

from checks.phrase import say
from kvgate.errors import Unwritable
from kvgate.ledger.repository import Ledger, RunHandle, StoredEnvelope
from tests.ledger.sample import begin, tamper

DRAFT, FINAL = b'{"one": 1}\n', b'{"two": \x00\xff}\n'


def test_a_draft_and_its_successor_stand_beside_each_other(ledger: Ledger) -> None:
    run = begin(ledger)
    ledger.keep_envelope("certificate", "fx100", DRAFT, "d" * 64, run.id)
    kept = ledger.keep_envelope("certificate", "fx100", FINAL, "d" * 64, run.id)
    assert (kept.content, kept.run, kept.campaign) == (FINAL, run.id, "fx100")
    ledger.keep_envelope("waiver", "other", DRAFT, "e" * 64)
    assert [one.content for one in ledger.envelopes(document="d" * 64)] == [DRAFT, FINAL]
    assert [one.digest for one in ledger.envelopes(kind="waiver")] == ["e" * 64]
    assert [one.campaign for one in ledger.envelopes()] == ["fx100", "fx100", "other"]
    assert ledger.envelopes(campaign="other", run=run.id) == []


def test_an_attempt_stands_with_its_signed_ticket_or_not_at_all(ledger: Ledger) -> None:
    """A disk that fills between the two left an attempt that nobody could certify, and that refused the next."""

    def full(run: RunHandle) -> StoredEnvelope:
        raise Unwritable(say("full at {run}", run=run.id))

    with pytest.raises(Unwritable, match="full at"):
        begin(ledger, signed=full)
    assert (ledger.runs(), ledger.envelopes()) == ([], [])
    run = begin(ledger, signed=lambda made: StoredEnvelope("ticket", "fx100", made.id, made.ticket_digest, DRAFT))
    assert (run.seq, run.attempt) == (1, 1)
    assert [(one.run, one.digest, one.content) for one in ledger.envelopes()] == [(run.id, run.ticket_digest, DRAFT)]


def test_the_same_bytes_again_add_nothing(ledger: Ledger) -> None:
    first = ledger.keep_envelope("ticket", "fx100", DRAFT, "d" * 64)
    assert ledger.keep_envelope("ticket", "fx100", DRAFT, "d" * 64) == first
    assert len(ledger.envelopes()) == 1


def test_a_run_that_is_not_there_is_no_place_for_a_document(ledger: Ledger) -> None:
    with pytest.raises(Unwritable):
        ledger.keep_envelope("certificate", "fx100", DRAFT, "d" * 64, "nobody")


@pytest.mark.parametrize("statement", ["DELETE FROM envelope", "UPDATE envelope SET kind = 'waiver'"])
def test_rows_stay_as_they_are(ledger: Ledger, url: str, statement: str) -> None:
    ledger.keep_envelope("certificate", "fx100", DRAFT, "d" * 64)
    with pytest.raises((Unwritable, DBAPIError)):
        tamper(url, statement, guarded=True)
    assert [one.kind for one in ledger.envelopes()] == ["certificate"]


def test_changed_bytes_are_named(ledger: Ledger, url: str) -> None:
    ledger.keep_envelope("certificate", "fx100", DRAFT, "d" * 64)
    assert ledger.check() == []
    tamper(
        url,
        "UPDATE envelope SET content = 'other'"
        if url.startswith("sqlite")
        else "UPDATE envelope SET content = 'other'::bytea",
    )
    assert ledger.check() == ["certificate 1 was changed: its bytes have another digest"]
