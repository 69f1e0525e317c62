"""Whether the campaign allows a run now, and who signs its start ticket. Refused with every reason before anything is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from checks.phrase import say
from kvgate.agreement import Agreement
from kvgate.campaign.scopes import Place
from kvgate.campaign.seen import Seen
from kvgate.errors import NotAllowed, OutOfOrder
from kvgate.gate import baseline
from kvgate.gate.options import Options
from kvgate.inventory.reader import Inventory

if TYPE_CHECKING:  # signatures are loaded when there is something to weigh
    from kvgate.campaign.order import Obstacle
    from kvgate.certificates.keys import Signer
    from kvgate.evidence.store import Evidence
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunHandle, RunRecord


@dataclass(frozen=True)
class Allowed:
    """What a run starts on: the head of the decision log it was allowed at, who passed the gate before, and in which run."""

    head: tuple[int, str]
    before: tuple[str, Mapping[Place, Seen]] | None
    signer: Signer | None = None
    after: RunRecord | None = None

    def sign(self, ledger: Ledger, run: RunHandle) -> None:
        """Sign the start ticket, where a key is configured. Raises Unproven, Unwritable."""
        if self.signer is not None:
            from kvgate.campaign import tickets

            tickets.keep(ledger, run, self.signer)

    def compare(self, ledger: Ledger, evidence: Evidence, gate: str) -> None:
        """Take what the gate before measured into the evidence of a gate that compares with it. Raises Unwritable."""
        if gate in baseline.COMPARES and self.after is not None:
            baseline.keep(evidence, ledger, self.after)


def allowed(
    options: Options, inventory: Inventory, agreement: Agreement, ledger: Ledger, resumed: str | None = None
) -> Allowed:
    """Say on what the run starts. Raises OutOfOrder with everything that is in the way, NotAllowed for a key that cannot sign."""
    rack = inventory.rack
    others = _other_names(ledger, inventory)
    unsigned = _unsigned(options, ledger, rack.campaign, resumed)
    first = options.gate == "G1" and not others and not ledger.runs(rack.campaign)
    if first and options.key is None and options.party is None:  # nothing was signed that could be weighed
        return Allowed(ledger.head(), None)
    from kvgate.campaign import order, parties, standing
    from kvgate.campaign.documents import Documents

    at = datetime.now(UTC)
    trust = parties.trusted(inventory, options.trust)
    campaign = standing.read(ledger, rack.campaign, Documents(ledger, rack.campaign, trust, at))
    opening = order.opening(campaign, options.gate, rack, agreement.digest, at, resumed=resumed)
    earlier = [standing.read(ledger, name, Documents(ledger, name, trust, at)) for name in others]
    obstacles = [*opening.obstacles, *order.ended_elsewhere(earlier), *unsigned]
    if obstacles:
        raise OutOfOrder(options.gate, tuple((one.why, one.do) for one in obstacles))
    before = None if opening.after is None else (opening.after.run.gate, opening.after.seen)
    after = None if opening.after is None else opening.after.run
    return Allowed(campaign.head, before, _signer(options, inventory), after)


def _other_names(ledger: Ledger, inventory: Inventory) -> list[str]:
    """Campaigns under other names that ran on just this rack."""
    rack = inventory.rack
    same = [
        run for run in ledger.runs() if run.fingerprint == inventory.fingerprint and run.simulated is rack.simulated
    ]
    return [name for name in dict.fromkeys(run.campaign for run in same) if name != rack.campaign]


def _unsigned(options: Options, ledger: Ledger, campaign: str, resumed: str | None) -> list[Obstacle]:
    """Why a gate after G1 does not start without a signature: what it comes to could not be certified, and it makes load for hours."""
    if options.gate == "G1":
        return []
    from kvgate.campaign import order, tickets

    if resumed is None:
        if options.key is not None or options.party is not None:
            return []
        why = say(
            "nobody would sign its start ticket: the other party could not count it, and it could not be certified"
        )
        do = say("name a key and whose it is: --key FILE --party NAME (or KVGATE_KEY and KVGATE_PARTY)")
        return [order.Obstacle("ticket", why, do)]
    if next(tickets.kept(ledger, ledger.run(resumed)), None) is not None:
        return []
    why = say("run {run} was begun without a signed start ticket: it could not be certified", run=resumed)
    do = say("close it (kvgate close {run} --reason '...') and begin anew with --key FILE --party NAME", run=resumed)
    return [order.Obstacle("ticket", why, do)]


def _signer(options: Options, inventory: Inventory) -> Signer | None:
    if options.key is None:
        if options.party is not None:
            raise NotAllowed(say("--party says whose --key signs the start ticket: give both, or none"))
        return None
    if options.party is None:
        raise NotAllowed(say("--key signs the start ticket: say whose it is with --party vendor or --party customer"))
    from kvgate.campaign import parties

    return parties.signer_of(options.key, options.party, parties.trusted(inventory, options.trust), _no_passphrase)


def _no_passphrase(path: Path) -> str:
    raise NotAllowed(
        say("key {path} has a passphrase, and a gate asks nobody: ssh-add {path}, then start it again", path=str(path))
    )
