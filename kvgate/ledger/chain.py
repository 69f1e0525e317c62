"""The two records that later signatures stand on: a run's start ticket and the entry of the decision log.

Both are canonical JSON without floats. A ticket is fixed before the first question and names the decision before it; an
entry names its ticket, digests of everything that was decided, and the entry before it. Only text and digests: no I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from checks.decision import Owed
from checks.verdict import Outcome
from kvgate.codec import Seal, canonical, digest, parse_object
from kvgate.ledger.rows import RunHandle, StoredDecision

#: What the first entry names as the one before it.
GENESIS = digest("kvgate decision log")


def owed_digest(owed: Iterable[Owed]) -> str:
    """Digest of what a run owes, whatever the order."""
    return digest(canonical(sorted([item.clause, item.subject, item.blocking] for item in owed)))


#: Where the keys of a ticket stood: in the inventory that the run went by, or in the trust file that its operator gave.
BY_INVENTORY, BY_TRUST = "inventory", "trust"

#: Source -> party -> its public keys as OpenSSH writes them.
Parties = Mapping[str, Mapping[str, Sequence[str]]]


def ticket(run: Mapping[str, object], owed: Iterable[Owed], parties: Parties | None = None) -> str:
    """Return the start ticket of a run as canonical JSON, from its columns; ``parties`` are the keys that counted, where any did."""
    names = (
        "run", "seq", "campaign", "gate", "attempt", "inventory", "fingerprint", "acceptance", "revision", "code",
        "operator", "host", "simulated", "nonce", "prev", "started",
    )  # fmt: skip
    keys = (
        {"parties": {by: {party: list(of) for party, of in one.items()} for by, one in parties.items()}}
        if parties
        else {}
    )
    return canonical({"ticket": 1, "owed": owed_digest(owed), **{name: run[name] for name in names}, **keys})


def kept_parties(text: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the keys that a start ticket fixed, by source and party; none for a ticket that carries none or is none."""
    try:
        found = parse_object(text).get("parties")
    except ValueError:
        return {}
    sources = found.items() if isinstance(found, dict) else ()
    return {
        by: {party: tuple(map(str, keys)) for party, keys in one.items() if isinstance(keys, list)}
        for by, one in sources if isinstance(one, dict)
    }  # fmt: skip


def expected_ticket(run: RunHandle, owed: Iterable[Owed]) -> str:
    """Return the ticket that the row of a run must carry."""
    columns: dict[str, object] = {
        "run": run.id, "seq": run.seq, "campaign": run.campaign, "gate": run.gate, "attempt": run.attempt,
        "inventory": run.inventory_digest, "fingerprint": run.fingerprint, "acceptance": run.acceptance_digest,
        "revision": run.revision, "code": run.code, "operator": run.operator, "host": run.host,
        "simulated": run.simulated, "nonce": run.nonce, "prev": run.prev, "started": run.started,
    }  # fmt: skip
    return ticket(columns, owed, kept_parties(run.ticket))


def entry(
    run: RunHandle,
    *,
    seq: int,
    judgement: int,
    kind: str,
    outcome: Outcome,
    counts: tuple[int, int, int],
    why: str,
    seal: Seal,
    rows: Sequence[Sequence[object]],
    code: str,
    prev: str,
    utc: str,
    more: Mapping[str, object] | None = None,
) -> str:
    """Return the content of one entry. ``rows`` are the run's verdict rows of this judgement, oldest first, id in front.

    ``more`` is what only some entries carry: ``seen`` (digest of what answered), ``waivers``.
    """
    return canonical(
        {
            **(more or {}),
            "decision": 1, "seq": seq, "run": run.id, "campaign": run.campaign, "gate": run.gate, "attempt": run.attempt,
            "ticket": run.ticket_digest, "judgement": judgement, "kind": kind, "outcome": outcome.value, "why": why,
            "passed": counts[0], "stopped": counts[1], "undecided": counts[2], "verdicts": digest(canonical(list(rows))),
            "rows": len(rows), "last": rows[-1][0] if rows else 0, "code": code,
            "evidence": {"lines": seal.lines, "head": seal.head, "root": seal.root}, "prev": prev, "utc": utc,
        }
    )  # fmt: skip


def differs(stored: StoredDecision, found: Mapping[str, object]) -> list[str]:
    """Columns of an entry that do not say what its hashed content says."""
    columns: dict[str, object] = {
        "seq": stored.seq, "run": stored.run, "judgement": stored.judgement, "kind": stored.kind,
        "outcome": stored.outcome.value, "passed": stored.passed, "stopped": stored.stopped,
        "undecided": stored.undecided, "why": stored.why, "prev": stored.prev, "utc": stored.utc,
        "evidence": {"lines": stored.evidence_lines, "head": stored.evidence_head, "root": stored.evidence_root},
    }  # fmt: skip
    return sorted(name for name, value in columns.items() if found.get(name) != value)
