"""A campaign that a STOP ended goes on when both parties sign so: the document names the runs and the decisions it is about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from checks.phrase import say
from checks.verdict import Outcome
from kvgate.campaign import statements
from kvgate.campaign.documents import Documents
from kvgate.campaign.standing import Attempt
from kvgate.campaign.statements import Reopening, Stop
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.statement import Resource, Sha256
from kvgate.errors import NotAllowed


def propose(campaign: str, stops: Sequence[Attempt], documents: Documents, reason: str, at: datetime) -> Envelope:
    """Write a reopening, unsigned. Raises NotAllowed when nothing ended the campaign, or a run of it has no end yet."""
    if not stops:
        raise NotAllowed(
            say(
                "no STOP keeps campaign {campaign} ended: there is nothing to reopen (kvgate status)", campaign=campaign
            )
        )
    if len(reason.strip()) < 3:
        raise NotAllowed(say("found no reason, wanted --reason 'what was mended, and why the campaign goes on'"))
    said: list[Stop] = []
    for one in stops:
        last = documents.last(one.run)
        if last is None or one.open:
            raise NotAllowed(
                say("run {id} has no end yet: close it first (kvgate close {id} --reason ...)", id=one.run.id)
            )
        outcome = "STOP" if one.outcome is Outcome.STOP else "UNDECIDED"
        run = one.run
        said.append(Stop.model_validate(
            {"run": run.id, "gate": run.gate, "attempt": run.attempt, "outcome": outcome, "decision": last.hash}
        ))  # fmt: skip
    written = at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    predicate = Reopening(campaign=campaign, stops=tuple(said), reason=reason.strip(), written=written)
    subjects = [Resource(name=f"decision/{one.run}", digest=Sha256(sha256=one.decision)) for one in said]
    return statements.write(statements.REOPENING, predicate, subjects)
