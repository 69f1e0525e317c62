"""The parties' keys are those of the first attempt: whoever names others later signs nothing that counts, and the gate is refused.

Each start ticket keeps the keys that its inventory named and, where the operator gave a trust file, that file's: a trust file is the
verifier's own decision, and every output, the ledger and the certificate say so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from checks.phrase import Phrase, joined, listed, say
from kvgate.campaign import elsewhere, parties
from kvgate.campaign.order import Obstacle
from kvgate.certificates.keys import PublicKey, public_key
from kvgate.certificates.trust import PARTIES, Trust, Trusted
from kvgate.inventory.reader import Inventory
from kvgate.ledger.chain import BY_INVENTORY, BY_TRUST, kept_parties
from kvgate.ledger.racks import Racks
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord

#: Party -> its public keys as OpenSSH writes them.
Keys = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class InForce:
    """Whose signatures count now. ``kept`` goes into the start ticket, ``changed`` keeps a gate shut, ``loud`` is said aloud."""

    trust: Trust | None
    kept: Mapping[str, Keys]
    changed: Obstacle | None = None
    loud: Phrase | None = None


def in_force(ledger: Ledger, inventory: Inventory | None, file: Path | None, campaign: str) -> InForce:
    """Return what counts: the trust file if one is named, else the keys of the first attempt of campaign or rack, else the inventory's.

    Raises NotAllowed, Unproven for a file that cannot be read or is no key.
    """
    ordered = None if inventory is None else parties.of_inventory(inventory)
    given = None if file is None else parties.trusted(None, file)
    kept = {by: _keys(trust) for by, trust in ((BY_INVENTORY, ordered), (BY_TRUST, given)) if trust is not None}
    first = _first(ledger, inventory, campaign)
    if first is None:
        return InForce(given or ordered, kept)
    run, by, keys = first
    if given is not None:
        return InForce(given, kept, loud=_by_trust(given, run, keys))
    differs = (
        []
        if ordered is None
        else [_other(party, ordered, keys) for party in PARTIES if not _same(party, ordered, keys)]
    )
    changed = _changed(run, differs) if differs else None
    if ordered is None and by == BY_TRUST:  # that file was somebody's own decision, for his own run
        return InForce(None, kept)
    return InForce(_trust(run, keys), kept, changed)


def _first(ledger: Ledger, inventory: Inventory | None, campaign: str) -> tuple[RunRecord, str, Keys] | None:
    """Return the oldest attempt of the campaign, or on its rack under another name, that fixed keys, with their source and these."""
    runs = ledger.runs(campaign)
    if inventory is not None:
        racks = Racks(ledger)
        same = racks.same(elsewhere.ordered(inventory), simulated=inventory.rack.simulated)
        runs = sorted({run.id: run for run in (*runs, *same)}.values(), key=lambda run: run.seq)
    for run in runs:
        kept = kept_parties(run.ticket)
        for by in (BY_INVENTORY, BY_TRUST):
            if keys := kept.get(by):
                return run, by, keys
    return None


def _keys(trust: Trust) -> Keys:
    return {
        party: tuple(sorted({line.key.openssh() for line in trust.of(party)})) for party in PARTIES if trust.of(party)
    }


def _trust(run: RunRecord, keys: Keys) -> Trust:
    place = f"the start ticket of run {run.id}"
    found: dict[bytes, tuple[Trusted, ...]] = {}
    for party, texts in keys.items():
        for text in texts:
            key = public_key(text, place)
            found[key.raw] = (Trusted(party, key, None, None, place),)
    return Trust(place, found)


def _same(party: str, trust: Trust, keys: Keys) -> bool:
    return {line.key.openssh() for line in trust.of(party)} <= set(keys.get(party, ()))


def _other(party: str, trust: Trust, keys: Keys) -> Phrase:
    found = trust.of(party)
    return say(
        "found {found} as the key of {party} ({file}), wanted {wanted}",
        party=party, found=_prints(one.key for one in found), file=found[0].who,
        wanted=_prints(public_key(text) for text in keys.get(party, ())),
    )  # fmt: skip


def _prints(keys: Iterable[PublicKey]) -> Phrase:
    found = [key.fingerprint for key in keys]
    return listed(found) if found else say("none")


def _changed(run: RunRecord, differs: list[Phrase]) -> Obstacle:
    why = say(
        "the keys of the parties are fixed since the first attempt ({gate}, run {run}) and are others now: {what}",
        gate=run.gate, run=run.id, what=joined(differs),
    )  # fmt: skip
    do = say(
        "put those public keys back where the inventory names them; or, where a party really has another key and you believe so, "
        "name the keys that count for you in a file of your own: --trust FILE (the certificate will say so)"
    )
    return Obstacle("keys", why, do)


def _by_trust(given: Trust, run: RunRecord, keys: Keys) -> Phrase | None:
    """What must be said aloud: the trust file lets other keys count than the first attempt fixed."""
    differs = [
        say("{party}: {now} instead of {then}", party=party, now=_prints(one.key for one in given.of(party)),
            then=_prints(public_key(text) for text in keys.get(party, ())))
        for party in PARTIES if not set(keys.get(party, ())) & {line.key.openssh() for line in given.of(party)}
    ]  # fmt: skip
    if not differs:
        return None
    return say(
        "the keys that count are those of {file}, not those that the first attempt ({gate}, run {run}) fixed: {what}",
        file=given.place, gate=run.gate, run=run.id, what=joined(differs),
    )  # fmt: skip
