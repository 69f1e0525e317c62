"""The soaks of a campaign in its ledger: every start, stop and removal as a statement of its own, each naming the one before."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from checks.phrase import say
from checks.soak.attempts import Start, Starts
from kvgate.certificates import envelope as envelopes
from kvgate.certificates import soak_event
from kvgate.certificates.envelope import Envelope
from kvgate.certificates.keys import Signer
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.soak_event import KIND, NONE, Planned, SoakEvent
from kvgate.certificates.trust import Trust
from kvgate.codec import canonical, digest
from kvgate.errors import BadInput, KvgateError, NotAllowed, Unproven
from kvgate.inventory import parts
from kvgate.inventory.parts import Part
from kvgate.inventory.reader import Inventory
from kvgate.ledger.racks import Racks
from kvgate.ledger.repository import Ledger, now_utc
from kvgate.ledger.rows import RunRecord
from kvgate.soak.starts import Event

_TRIES = 5


@dataclass(frozen=True, slots=True)
class Written:
    """One statement as the ledger has it."""

    said: SoakEvent
    envelope: Envelope


def written(ledger: Ledger) -> tuple[list[Written], list[str]]:
    """Every statement about a soak, oldest first, and what is wrong with them: one that cannot be read, a chain that is broken."""
    found: list[Written] = []
    problems: list[str] = []
    last: dict[str, Written] = {}
    for stored in ledger.envelopes(kind=KIND):
        try:
            envelope = envelopes.read(stored.content, f"{KIND} {stored.digest[:16]}")
            said = soak_event.read(envelope)
        except Unproven as error:
            problems.append(str(error))
            continue
        before = last.get(said.campaign)
        wanted = (1, NONE) if before is None else (before.said.sequence + 1, before.envelope.digest)
        if (said.sequence, said.previous) != wanted or said.campaign != stored.campaign:
            what = say(
                "record {number} of the soaks of {campaign} does not follow the one before it: one was taken out or changed",
                number=said.sequence, campaign=said.campaign,
            )  # fmt: skip
            problems.append(str(what))
        last[said.campaign] = one = Written(said, envelope)
        found.append(one)
    return found, problems


@dataclass(frozen=True)
class _Rack:
    """By what a soak is known to be of this rack: campaign or inventory, or one part in common under other names."""

    campaign: str
    fingerprint: str
    parts: frozenset[str]
    simulated: bool

    def names(self, said: SoakEvent) -> bool:
        return self.campaign == said.campaign or self.fingerprint == said.fingerprint

    def shares(self, said: SoakEvent) -> bool:
        return self.simulated is said.simulated and not self.parts.isdisjoint(said.parts)

    def mine(self, found: Iterable[Written]) -> list[Written]:
        """Every statement about a soak of this rack."""
        found = list(found)
        soaks = {one.said.soak for one in found if self.names(one.said) or self.shares(one.said)}
        return [one for one in found if one.said.soak in soaks]

    def elsewhere(self, found: Iterable[Written]) -> dict[str, str]:
        """Soaks that are known by a part alone, with the campaign in whose name they were begun."""
        found = list(found)
        named = {one.said.soak for one in found if self.names(one.said)}
        return {one.said.soak: one.said.campaign for one in found if one.said.soak not in named}


def _ordered(inventory: Inventory) -> frozenset[str]:
    """Digests of the parts that an inventory orders."""
    try:
        return _digests(parts.parts(inventory.text))
    except BadInput:
        return frozenset()


def _digests(found: Iterable[Part]) -> frozenset[str]:
    return frozenset(digest(canonical(list(one))) for one in found)


def starts(ledger: Ledger, campaign: str, inventory: Inventory, trust: Trust | None = None) -> Starts:
    """All soaks of a campaign, and of the rack of an inventory in others; what runs of G4 came to stands as the ledger has it now."""
    found, problems = written(ledger)
    rack = _Rack(campaign, inventory.fingerprint, _ordered(inventory), inventory.rack.simulated)
    return Starts(tuple(_folded(ledger, found, rack, trust)), tuple(problems))


def until(ledger: Ledger, run: RunRecord) -> Starts:
    """The soaks that were begun until a run of G4 took the journals of one, which is ``judged``; "" where it took none."""
    found, problems = written(ledger)
    rack = _Rack(run.campaign, run.fingerprint, _digests(Racks(ledger).of(run)), run.simulated)
    mine = rack.mine(found)
    took = [place for place, one in enumerate(mine) if (one.said.event, one.said.run) == ("judge", run.id)]
    then = mine[: took[-1] + 1] if took else [one for one in mine if one.said.at <= run.started]
    judged = mine[took[-1]].said.soak if took else ""
    return Starts(tuple(_folded(ledger, then, rack, None)), tuple(problems), judged)


def _folded(ledger: Ledger, found: Iterable[Written], rack: _Rack, trust: Trust | None) -> list[Start]:
    table: dict[str, Start] = {}
    signed: dict[str, set[str]] = {}
    mine = rack.mine(found)
    for one in mine:
        said = one.said
        now = table.get(said.soak, Start(said.soak, "", 0))
        if said.event == "start":
            plans = {host.host: host.plan for host in said.plans}
            parties = _parties(one.envelope, trust)
            signed[said.soak] = parties if said.soak not in signed else signed[said.soak] & parties
            now = replace(now, started=now.started or said.at, times=now.times + 1, plans=plans, stopped="", removed="")
        elif said.event == "judge":
            runs = {**dict(now.runs), said.run: _came_to(ledger, said.run)}
            now = replace(now, runs=tuple(runs.items()))
        elif said.event == "begun":
            now = replace(now, begun=said.at)
        elif said.event == "stop":
            now = replace(now, stopped=said.at)
        else:
            now = replace(now, removed=said.at)
        table[said.soak] = now
    under = rack.elsewhere(mine)
    return [
        replace(one, signed=tuple(sorted(signed.get(one.soak, ()))), under=under.get(one.soak, ""))
        for one in table.values()
    ]


def _parties(envelope: Envelope, trust: Trust | None) -> set[str]:
    if trust is None:
        return set()
    weighed = weigh(envelope, trust, datetime.now(UTC))
    return set() if weighed.state is State.REFUSED else {line.party for line in weighed.signed}


def _came_to(ledger: Ledger, run: str) -> str:
    with suppress(KvgateError):
        standing = ledger.outcome(ledger.run(run))
        return standing.outcome.value if standing.decided else ""
    return ""


class SoakBook:
    """The book of one rack and campaign. Unsigned without a ``signer``; ``trust`` tells whose signatures count."""

    def __init__(
        self, ledger: Ledger, inventory: Inventory, operator: str, version: str, *, signer: Signer | None = None,
        trust: Trust | None = None,
    ) -> None:  # fmt: skip
        self._ledger, self._inventory, self._signer, self._trust = ledger, inventory, signer, trust
        self._who = (operator, socket.gethostname(), version)

    def head(self) -> str:
        """Digest of the newest record of the campaign, "" where there is none."""
        own = self._own()
        return own[-1].envelope.digest if own else ""

    def starts(self) -> Starts:
        """All soaks of the rack and its campaign."""
        return starts(self._ledger, self._inventory.rack.campaign, self._inventory, self._trust)

    def write(
        self, event: Event, soak: str, plans: Mapping[str, str], *, after: str | None = None, run: str = ""
    ) -> None:
        """Write one down, signed where there is a key, and read it back.

        Raises NotAllowed for a start that nobody signs: the other party could not count it. Raises Unwritable, Unproven.
        """
        if event == "start" and self._signer is None:
            raise NotAllowed(
                say(
                    "nobody would sign the start of this soak: the other party could not count it, and a PASS of G4 after 72 hours could "
                    "not be certified; give --key FILE and --party NAME (or KVGATE_KEY and KVGATE_PARTY; runbooks/certificates.md)"
                )
            )
        for left in range(_TRIES, 0, -1):
            envelope = self._said(event, soak, plans, run)
            head = after if after is not None else envelope[1]
            try:
                self._keep(envelope[0], head)
            except NotAllowed:
                if after is not None or left == 1:
                    raise
            else:
                return

    def _keep(self, envelope: Envelope, head: str) -> None:
        signed = envelope if self._signer is None else envelope.signed_by(self._signer)
        campaign = self._inventory.rack.campaign
        self._ledger.keep_envelope(KIND, campaign, signed.to_bytes(), signed.digest, after=head)

    def _said(self, event: Event, soak: str, plans: Mapping[str, str], run: str) -> tuple[Envelope, str]:
        """The next statement, and the digest of the one before it."""
        own, rack = self._own(), self._inventory.rack
        operator, machine, version = self._who
        previous = own[-1].envelope.digest if own else ""
        said = SoakEvent(
            campaign=rack.campaign, rack=rack.rack, fingerprint=self._inventory.fingerprint,
            inventory=self._inventory.text_digest, simulated=rack.simulated, soak=soak, event=event,
            plans=tuple(Planned(host=host, plan=plan) for host, plan in sorted(plans.items())), run=run,
            parts=tuple(sorted(_ordered(self._inventory))) if event == "start" else (),
            sequence=own[-1].said.sequence + 1 if own else 1, previous=previous or NONE, operator=operator, machine=machine,
            version=version, at=now_utc(),
        )  # fmt: skip
        return soak_event.write(said), previous

    def _own(self) -> Sequence[Written]:
        found, _ = written(self._ledger)
        return [one for one in found if one.said.campaign == self._inventory.rack.campaign]
