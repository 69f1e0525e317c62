"""Whether a certificate carries the start ticket of its own run, signed by a party.

By signed tickets the other party can count attempts. A PASS without one opens nothing: nobody could tell how many runs were
made and thrown away before it. A STOP opens nothing anyway, and may go without.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from checks.phrase import Phrase, joined, listed, plain, say
from checks.verdict import Outcome
from kvgate.certificates.decision import GateDecision
from kvgate.certificates.quorum import weigh
from kvgate.certificates.ticket import StartTicket, envelope_of, read
from kvgate.certificates.trust import Trust
from kvgate.errors import Refused


def contradictions(found: GateDecision) -> list[Phrase]:
    """Everything in which a certificate and the start ticket that it carries contradict one another; none is good."""
    if found.start_ticket is None:
        unsigned = found.ticket_signed_by or found.decision == "PASS"
        return [say("it carries no signed start ticket: attempts before it cannot be counted")] if unsigned else []
    try:
        said = read(envelope_of(found.start_ticket))
    except Refused as error:
        return [plain(str(error))]
    return list(_differences(found, said))


def _differences(found: GateDecision, said: StartTicket) -> Iterator[Phrase]:
    pairs = (
        ("run", said.run, found.run), ("campaign", said.campaign, found.campaign), ("gate", said.gate, found.gate),
        ("attempt", said.attempt, found.attempt), ("ticket", said.ticket, found.ticket), ("started", said.started, found.started),
        ("inventory", said.inventory, found.configured("inventory")),
        ("acceptance", said.acceptance, found.configured("acceptance")),
    )  # fmt: skip
    for name, there, here in pairs:
        if there != here:
            yield say(
                "the start ticket has {name} {there:.80}, the certificate {here:.80}",
                name=name, there=str(there), here=str(here),
            )  # fmt: skip


def weighed(found: GateDecision, trust: Trust | None, at: datetime) -> tuple[Outcome, Phrase]:
    """Whether a party signed the start ticket of just this run, by keys that count at a moment."""
    if wrong := contradictions(found):
        return Outcome.STOP, joined(wrong)
    if found.start_ticket is None:
        return Outcome.PASS, say("not signed: enough for a STOP, which opens nothing")
    if trust is None:
        return Outcome.UNDECIDED, say(
            "it is of this run; whose signature is on it is not known: name a trust file with --trust"
        )
    endorsement = weigh(envelope_of(found.start_ticket), trust, at)
    if endorsement.problems:
        return Outcome.STOP, joined(endorsement.problems)
    signed = [line.party for line in endorsement.signed]
    if found.ticket_signed_by not in signed:
        who = listed([plain(party) for party in signed]) if signed else say("nobody")
        return Outcome.STOP, say(
            "the certificate says that {party} signed the start ticket, it is signed by {who}",
            party=found.ticket_signed_by or "-", who=who,
        )  # fmt: skip
    return Outcome.PASS, say(
        "attempt {attempt}, begun {time}, signed by {party}", attempt=found.attempt, time=found.started[:19] + "Z",
        party=found.ticket_signed_by,
    )  # fmt: skip
