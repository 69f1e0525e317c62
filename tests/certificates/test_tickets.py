"""A certificate of a PASS holds only with the start ticket of its own run, signed by a party before the first question."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kvgate.certificates import canonical, ticket
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.envelope import Envelope
from tests.certificates.conftest import Desk, Keys

Change = Callable[[dict[str, Any]], None]


def found(desk: Desk, *words: str) -> tuple[str, str]:
    """Outcome and finding of the check, and no other check is touched by it."""
    shown = json.loads(desk.verify("--json", *words).stdout)
    others = {
        one["check"]: one["found"] for one in shown["checks"] if one["outcome"] != "PASS" and one["check"] != "ticket"
    }
    assert others == {}
    (check,) = [one for one in shown["checks"] if one["check"] == "ticket"]
    return str(check["outcome"]), str(check["found"])


def signed(desk: Desk, change: Change, keys: Keys, *more: Keys) -> None:
    """Forge: the certificate of both parties carries a ticket that says something else, signed by these keys."""

    def swap(statement: dict[str, Any]) -> None:
        told = ticket.envelope_of(
            ticket.SignedTicket.model_validate(statement["predicate"]["start_ticket"])
        ).statement()
        change(told)
        envelope = envelopes.seal(told)
        for one in (keys, *more):
            envelope = envelope.signed_by(one.signer)
        statement["predicate"]["start_ticket"] = carried(envelope)

    desk.forge(swap)


def carried(envelope: Envelope) -> dict[str, Any]:
    return dict(ticket.carried(envelope).model_dump(mode="json"))


def test_the_ticket_of_the_run_signed_by_a_party_holds(final: Desk) -> None:
    outcome, told = found(final)
    assert outcome == "PASS"
    assert "attempt 2, begun" in told
    assert "signed by vendor" in told


def test_a_pass_without_its_ticket_is_refused_though_both_parties_signed_it(final: Desk) -> None:
    final.forge(lambda statement: statement["predicate"].update(start_ticket=None, ticket_signed_by=""))
    assert found(final) == ("STOP", "it carries no signed start ticket: attempts before it cannot be counted")
    refused = final.cosign("--yes", "--without-evidence")
    assert refused.exit_code == 4


@pytest.mark.parametrize("name", ["run", "campaign", "ticket", "inventory", "acceptance", "started", "attempt", "gate"])
def test_a_ticket_of_another_run_is_refused(final: Desk, name: str) -> None:
    other = {"attempt": 1, "gate": "G2", "started": "2026-01-01T00:00:00.000000Z", "run": "r", "campaign": "c"}.get(
        name, "0" * 64
    )
    signed(final, lambda statement: statement["predicate"].update({name: other}), final.vendor)
    outcome, told = found(final)
    assert outcome == "STOP"
    assert f"the start ticket has {name} {other}, the certificate " in told


def test_a_ticket_that_a_stranger_signed_is_refused(final: Desk, stranger: Keys) -> None:
    signed(final, lambda _: None, stranger)
    outcome, told = found(final)
    assert outcome == "STOP"
    assert "was made by no key of" in told


def test_a_ticket_that_a_stranger_signed_too_is_refused(final: Desk, stranger: Keys) -> None:
    signed(final, lambda _: None, final.vendor, stranger)
    assert found(final)[0] == "STOP"


def test_who_signed_the_ticket_must_be_who_is_said_to_have(final: Desk) -> None:
    signed(final, lambda _: None, final.customer)
    assert found(final) == (
        "STOP",
        "the certificate says that vendor signed the start ticket, it is signed by customer",
    )


def test_a_ticket_by_a_key_that_was_revoked_since_counts_no_more(final: Desk) -> None:
    (final.folder / "allowed_signers.revoked").write_text(final.vendor.signer.public.fingerprint)
    shown = json.loads(final.verify("--json").stdout)
    (check,) = [one for one in shown["checks"] if one["check"] == "ticket"]
    assert (check["outcome"], "was revoked" in check["found"]) == ("STOP", True)


def test_without_a_trust_file_nobody_can_tell_whose_ticket_it_is(final: Desk) -> None:
    shown = json.loads(final.kvgate("verify", final.certificate, "--simulated", "--json", KVGATE_TRUST="").stdout)
    (check,) = [one for one in shown["checks"] if one["check"] == "ticket"]
    assert check["outcome"] == "UNDECIDED"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"payload": "e30"}, "base64"),
        ({"payload": "e30="}, "found a document of type None"),
        ({"payloadType": "text/plain"}, "payload type 'text/plain'"),
        ({"signatures": [{"keyid": "", "sig": "AA=="}]}, "has 1 bytes"),
    ],
)
def test_what_is_no_ticket_is_refused_with_the_reason(final: Desk, changed: dict[str, Any], reason: str) -> None:
    final.forge(lambda statement: statement["predicate"]["start_ticket"].update(changed))
    outcome, told = found(final)
    assert outcome == "STOP"
    assert reason in told


def test_another_document_in_the_place_of_a_ticket_is_refused(final: Desk) -> None:
    signed(final, lambda statement: statement.update(predicateType="urn:kvgate:waiver:v1"), final.vendor)
    assert "urn:kvgate:start-ticket:v1" in found(final)[1]


def test_a_field_too_many_in_the_ticket_is_refused(final: Desk) -> None:
    signed(final, lambda statement: statement["predicate"].update(more=1), final.vendor)
    assert "the start ticket says more" in found(final)[1]


def test_it_is_an_envelope_that_any_dsse_library_takes_as_it_stands(final: Desk) -> None:
    statement = envelopes.load(final.certificate).statement()
    predicate = statement["predicate"]
    assert isinstance(predicate, dict)
    envelope = envelopes.read(canonical.write(predicate["start_ticket"]))
    assert final.vendor.signer.public.verifies(envelope.signatures[0].sig, envelopes.pae(envelope.payload))
