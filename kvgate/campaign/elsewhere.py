"""The same rack under other names: a new name for the campaign neither forgets an attempt nor takes back a STOP."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from checks.phrase import Phrase, say
from kvgate.campaign import standing
from kvgate.campaign.documents import Documents
from kvgate.campaign.standing import Attempt, Campaign, Elsewhere
from kvgate.errors import BadInput
from kvgate.inventory import parts
from kvgate.inventory.parts import Part
from kvgate.inventory.reader import Inventory
from kvgate.ledger.racks import Racks, names_of
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord

#: Parts that are named at most.
_SHOWN = 3


def read(ledger: Ledger, inventory: Inventory, documents: Documents) -> Campaign:
    """Compute where the campaign of an inventory stands, with what its rack did under other names."""
    campaign = standing.read(ledger, inventory.rack.campaign, documents)
    racks = Racks(ledger)
    wanted = ordered(inventory)
    runs = racks.same(wanted, simulated=inventory.rack.simulated)
    return replace(campaign, elsewhere=tuple(_others(ledger, racks, runs, wanted, documents)))


def ordered(inventory: Inventory) -> frozenset[Part]:
    """Parts that an inventory orders."""
    try:
        return parts.parts(inventory.text)
    except BadInput:
        return frozenset()


def met(ledger: Ledger, run_campaign: str, cards: frozenset[Part], documents: Documents, *, simulated: bool,
        known: Iterable[str]) -> list[Phrase]:  # fmt: skip
    """Why accelerators that answer now belong to a rack that a STOP ended under a name which the inventory did not show."""
    racks = Racks(ledger)
    unknown = [run for run in racks.same(cards, simulated=simulated) if run.campaign not in {run_campaign, *known}]
    found = []
    for one in _others(ledger, racks, unknown, cards, documents) if unknown else ():
        for attempt in one.stopping:
            if attempt.open and attempt.unjudged:
                continue  # it may run at this moment, and began no later than this one
            if attempt.unjudged:
                found.append(say(
                    "accelerators of this rack were asked in campaign {campaign} by {gate} (run {run}), which ended early and was not "
                    "judged: kvgate close {run} --reason '...' judges it",
                    campaign=one.campaign, gate=attempt.run.gate, run=attempt.run.id,
                ))  # fmt: skip
                continue
            found.append(say(
                "accelerators of this rack ended campaign {campaign} with the STOP of {gate} (run {run}): both parties reopen "
                "that first (kvgate reopen --campaign {campaign} ...)",
                campaign=one.campaign, gate=attempt.run.gate, run=attempt.run.id,
            ))  # fmt: skip
    return found


def _others(
    ledger: Ledger, racks: Racks, runs: Sequence[RunRecord], wanted: frozenset[Part], documents: Documents
) -> Iterable[Elsewhere]:
    for name in names_of(runs, documents.campaign):
        mine = {run.id: run for run in runs if run.campaign == name}
        found = standing.read(ledger, name, Documents(ledger, name, documents.trust, documents.at))
        shared = sorted({one for run in mine.values() for one in racks.shared(run, wanted)})
        yield Elsewhere(
            name,
            tuple(one for one in found.attempts if one.run.id in mine),
            tuple(one for one in found.stopping() if one.run.id in mine),
            tuple(value for _, value in shared[:_SHOWN]),
            len(shared),
        )


def before(campaign: Campaign, gate: str) -> list[Attempt]:
    """Attempts at a gate on this rack under other names, oldest first."""
    found = [one for other in campaign.elsewhere for one in other.attempts if one.run.gate == gate]
    return sorted(found, key=lambda one: one.run.seq)
