"""Whether the campaign allows a run now, and who signs its start ticket. Refused with every reason before anything is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from checks.phrase import Phrase, say
from checks.verdict import Outcome
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
    from kvgate.certificates.trust import Trust
    from kvgate.evidence.store import Evidence
    from kvgate.gate.session import GateSession
    from kvgate.ledger.chain import Parties
    from kvgate.ledger.repository import Ledger
    from kvgate.ledger.rows import RunHandle, RunRecord, SeenRow, StoredEnvelope


@dataclass(frozen=True)
class Allowed:
    """What a run starts on: the head of the decision log it was allowed at, who passed the gate before, and in which run."""

    head: tuple[int, str]
    before: tuple[str, Mapping[Place, Seen]] | None
    signer: Signer | None = None
    after: RunRecord | None = None
    elsewhere: int = 0  # attempts at this gate on this rack under other names
    recognised: Callable[[Sequence[SeenRow]], list[Phrase]] = lambda rows: []
    parties: Parties = field(default_factory=dict)  # the keys that count, for the start ticket
    loud: Phrase | None = None  # that others count than the first attempt fixed
    trust: Trust | None = None  # whose signatures count
    arrived: RunRecord | None = None  # the run by which G1 passed

    def tell(self, session: GateSession) -> None:
        """Let the session of the run know it."""
        session.loud = self.loud
        session.before, session.elsewhere, session.recognised = self.before, self.elsewhere, self.recognised

    def sign(self) -> Callable[[RunHandle], StoredEnvelope] | None:
        """What signs the start ticket of the run that is written down; None where no key is configured."""
        if self.signer is None:
            return None
        from kvgate.campaign import tickets

        return partial(tickets.sign, signer=self.signer)

    def compare(self, ledger: Ledger, evidence: Evidence, gate: str) -> None:
        """Take what the gate before measured into the evidence of a gate that compares with it. Raises Unwritable."""
        if gate in baseline.COMPARES and self.after is not None:
            baseline.keep(evidence, ledger, self.after)
        if gate == "G4" and self.arrived is not None:
            from kvgate.gate import arrival

            arrival.keep(evidence, ledger, self.arrived)


def allowed(
    options: Options, inventory: Inventory, agreement: Agreement, ledger: Ledger, resumed: str | None = None
) -> Allowed:
    """Say on what the run starts. Raises OutOfOrder with everything that is in the way, NotAllowed for a key that cannot sign."""
    from kvgate.campaign import elsewhere, frozen, order
    from kvgate.campaign.documents import Documents

    rack, at = inventory.rack, datetime.now(UTC)
    force = frozen.in_force(ledger, inventory, options.trust, rack.campaign)
    documents = Documents(ledger, rack.campaign, force.trust, at)
    campaign = elsewhere.read(ledger, inventory, documents)
    if any(one.run.id == resumed and one.outcome is Outcome.PASS for one in campaign.attempts):
        raise NotAllowed(
            say("run {run} passed with its waivers: it owes nothing; leave --only-stale away", run=resumed or "")
        )
    opening = order.opening(campaign, options.gate, rack, agreement.digest, at, resumed=resumed)
    unsigned = _unsigned(options, ledger, rack.campaign, resumed)
    obstacles = [*([] if force.changed is None else [force.changed]), *opening.obstacles, *unsigned]
    if obstacles:
        raise OutOfOrder(options.gate, tuple((one.why, one.do) for one in obstacles))
    before = None if opening.after is None else (opening.after.run.gate, opening.after.seen)
    known = [other.campaign for other in campaign.elsewhere]

    def recognised(rows: Sequence[SeenRow]) -> list[Phrase]:
        from kvgate.ledger.racks import cards

        return elsewhere.met(ledger, rack.campaign, cards(rows), documents, simulated=rack.simulated, known=known)

    after = None if opening.after is None else opening.after.run
    return Allowed(
        campaign.head, before, _signer(options, force.trust), after, len(elsewhere.before(campaign, options.gate)), recognised,
        force.kept, force.loud, force.trust, next((one.run for one in campaign.passes("G1")), None),
    )  # fmt: skip


def _unsigned(options: Options, ledger: Ledger, campaign: str, resumed: str | None) -> list[Obstacle]:
    """Why a gate after G1 does not start without a signature: what it comes to could not be certified, and it makes load for hours."""
    if options.gate == "G1":
        return []
    from kvgate.campaign import commands, order, tickets

    if resumed is None:
        if options.key is not None or options.party is not None:
            return []
        why = say(
            "nobody would sign its start ticket: the other party could not count it, and it could not be certified"
        )
        do = say(
            "start it with a party's key: {gate} ... --key ~/.ssh/kvgate-customer --party customer (or KVGATE_KEY and KVGATE_PARTY); "
            "without one yet: ssh-keygen -t ed25519 -f ~/.ssh/kvgate-customer, and its .pub into `parties` of the inventory "
            "(runbooks/certificates.md)",
            gate=f"pytest -m {options.gate}",
        )
        return [order.Obstacle("ticket", why, do)]
    if next(tickets.kept(ledger, ledger.run(resumed)), None) is not None:
        return []
    why = say("run {run} was begun without a signed start ticket: it could not be certified", run=resumed)
    return [order.Obstacle("ticket", why, commands.to_begin_anew(ledger.run(resumed)))]


def _signer(options: Options, trust: Trust | None) -> Signer | None:
    if options.key is None:
        if options.party is not None:
            raise NotAllowed(say("--party says whose --key signs the start ticket: give both, or none"))
        return None
    if options.party is None:
        raise NotAllowed(say("--key signs the start ticket: say whose it is with --party vendor or --party customer"))
    from kvgate.campaign import parties

    return parties.signer_of(options.key, options.party, trust, _no_passphrase)


def _no_passphrase(path: Path) -> str:
    raise NotAllowed(
        say("key {path} has a passphrase, and a gate asks nobody: ssh-add {path}, then start it again", path=str(path))
    )
