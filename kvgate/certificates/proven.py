"""What of a certificate the evidence alone proves: every field that can be read from the folder, or judged again from it.

One derivation for both ends: who issues writes down what it says, who co-signs or verifies compares with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from checks.acceptance import Acceptance
from checks.decision import Owed
from checks.phrase import Phrase, say
from checks.verdict import Outcome, Verdict
from kvgate import agreement as agreements
from kvgate.certificates.decision import Certificate, Clause, MetHost, Overlaid, PartyKey
from kvgate.certificates.keys import public_key
from kvgate.codec import digest, printable
from kvgate.evidence.store import Evidence
from kvgate.inventory import reader
from kvgate.inventory.reader import Inventory
from kvgate.ledger.chain import BY_TRUST, kept_parties

_MOST = 4000  # characters of a text in a certificate


@dataclass(frozen=True, slots=True)
class Again:
    """One verdict judged again: from which journal lines, measured or declared."""

    verdict: Verdict
    evidence: tuple[int, ...] = ()
    basis: str = "measured"


@dataclass(frozen=True)
class Judgement:
    """What this version makes of the evidence alone, by which code."""

    verdicts: Mapping[Owed, Again]
    outcome: Outcome
    trouble: tuple[str, ...]
    version: str
    code: str  # digest


#: How each field is called when it differs. ``clauses`` are compared one by one.
_NAMES: Mapping[str, Phrase] = {
    "gate": say("gate"), "campaign": say("campaign"), "rack": say("name of the rack"), "run": say("run"),
    "fingerprint": say("rack"), "inventory": say("inventory"), "acceptance": say("agreement"),
    "overlaid": say("terms agreed otherwise"), "attempt": say("attempt"), "revision": say("revision of the agreement"),
    "ticket": say("start ticket"), "operator": say("operator"), "machine": say("operator's machine"),
    "started": say("start"), "hosts": say("host keys"), "elapsed": say("time that went by"),
    "boots": say("boots of the operator's machine"), "parties": say("keys of the parties"),
}  # fmt: skip
#: Fields of the first journal line, by their names there. A folder written before they were kept proves nothing of them.
_KEPT = ("attempt", "revision", "ticket", "operator", "machine", "started")


@dataclass(frozen=True)
class Proven:
    """Field of the predicate -> what the evidence says. ``silent`` are fields that this folder does not tell."""

    fields: Mapping[str, Any]
    silent: tuple[str, ...]
    last: str  # UTC of the last journal line
    inventory: Inventory = field(repr=False)
    acceptance: Acceptance = field(repr=False)

    def unlike(self, certificate: Certificate) -> dict[str, tuple[Phrase, str, str]]:
        """Field in which a certificate says something else -> how it is called, what was signed, what the evidence says."""
        found = certificate.predicate
        signed: dict[str, Any] = {
            name: getattr(found, name) for name in self.fields if name not in ("fingerprint", "inventory", "acceptance")
        }
        signed |= {"fingerprint": certificate.fingerprint}
        signed |= {name: found.configured(name) for name in ("inventory", "acceptance")}
        wrong = [name for name, there in self.fields.items() if signed[name] != there]
        return {name: (_NAMES[name], _short(signed[name]), _short(self.fields[name])) for name in wrong}

    def untold(self) -> list[Phrase]:
        """Names of the fields that this folder does not tell."""
        return [_NAMES[name] for name in self.silent]


def prove(evidence: Evidence) -> Proven:
    """Read from a folder what it proves. Raises Damaged, Refused for a folder that is none."""
    start = evidence.start
    inventory = reader.stored(start.inventory, f"{evidence.run}/inventory")
    agreement = agreements.stored(start.acceptance)
    elapsed, boots, last = _span(evidence)
    fields = {
        "gate": start.gate, "campaign": start.campaign, "rack": inventory.rack.rack, "run": start.run,
        "fingerprint": inventory.fingerprint, "inventory": inventory.text_digest, "acceptance": agreement.digest,
        "overlaid": tuple(
            Overlaid(clause=one.clause, what=one.what, before=one.before, after=one.after, origin=one.origin)
            for one in agreement.overlaid
        ),
        "hosts": tuple(met_hosts(inventory, evidence)), "elapsed": elapsed, "boots": boots,
    }  # fmt: skip
    kept = {name: start.fields[name] for name in _KEPT if name in start.fields}
    if start.start_ticket:
        kept |= {"parties": tuple(party_keys(start.start_ticket)), "ticket": digest(start.start_ticket)}
    silent = tuple(name for name in _KEPT if name not in kept)
    return Proven({**fields, **kept}, silent, last, inventory, agreement.acceptance)


def clauses(again: Judgement, acceptance: Acceptance, waived: Mapping[tuple[str, str], str]) -> Iterator[Clause]:
    """Every verdict as a certificate writes it; ``waived``: clause and subject -> digest of the waiver."""
    for item, one in again.verdicts.items():
        verdict = one.verdict
        yield Clause(
            clause=item.clause,
            check=acceptance.clauses[item.clause].check,
            subject=item.subject,
            blocking=item.blocking,
            outcome=verdict.outcome.value,
            measured=_said(verdict.measured),
            required=_said(verdict.required),
            unit=verdict.unit,
            note=_said(verdict.note),
            basis="declared" if one.basis == "declared" else "measured",
            evidence=tuple(f"E{number}" for number in one.evidence),
            waiver=waived.get((item.clause, item.subject), ""),
        )


def different(signed: Clause, now: Clause) -> str | None:
    """Name of the first field in which two verdicts differ, the waiver apart; None when they are the same."""
    names = (name for name in Clause.model_fields if name != "waiver")
    return next((name for name in names if getattr(signed, name) != getattr(now, name)), None)


def party_keys(ticket: str) -> Iterator[PartyKey]:
    """Every key that a start ticket fixed, by its fingerprint."""
    for by, parties in kept_parties(ticket).items():
        for party, keys in parties.items():
            for key in keys:
                fingerprint = public_key(key, f"the key of {party} in the start ticket").fingerprint
                yield PartyKey(party=party, key=fingerprint, by="trust" if by == BY_TRUST else "inventory")


def met_hosts(inventory: Inventory, evidence: Evidence) -> Iterator[MetHost]:
    """Every host with the key that was pinned and those that it showed in the run."""
    shown: dict[str, list[str]] = {}
    for batch in evidence.batches():
        if batch.host_key:
            shown.setdefault(batch.host, []).append(batch.host_key)
    for name, host in inventory.rack.hosts.items():
        yield MetHost(host=name, pinned=host.host_key, shown=tuple(dict.fromkeys(shown.get(name, ()))))


def _span(evidence: Evidence) -> tuple[int, int, str]:
    """Microseconds of monotonic time from first to last line, summed over the boots of the operator's machine; how many; and
    the UTC of the last line.
    """
    ends: dict[object, tuple[float, float]] = {}
    last = ""
    for line in evidence.lines():
        now, utc = line.get("monotonic"), line.get("utc")
        last = utc if isinstance(utc, str) else last
        if isinstance(now, (int, float)):
            first, latest = ends.get(line.get("boot"), (now, now))
            ends[line.get("boot")] = (min(first, now), max(latest, now))
    return round(sum(latest - first for first, latest in ends.values()) * 1_000_000), max(len(ends), 1), last


def hours_after(finished: str, last: str) -> float:
    """Hours from the last journal line to the end of the run as it was signed. Raises ValueError for what is no time."""
    return (datetime.fromisoformat(finished) - datetime.fromisoformat(last)).total_seconds() / 3600


def _said(phrase: Phrase | None) -> str:
    text = printable(phrase)
    return text if len(text) <= _MOST else text[: _MOST - 10] + " [...]"


def _short(value: object) -> str:
    if isinstance(value, tuple):
        return f"{len(value)} ({', '.join(_short(one) for one in value[:2])})" if value else "0"
    if isinstance(value, Overlaid):
        return f"{value.clause} {value.what} {value.before} -> {value.after}"
    if isinstance(value, MetHost):
        return f"{value.host} {value.pinned}"
    if isinstance(value, PartyKey):
        return f"{value.party} {value.key}"
    return str(value)[:80] or "-"
