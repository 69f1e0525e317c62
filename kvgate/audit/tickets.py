"""Signed start tickets against the ledger: whoever holds them can count the attempts, deleted ones too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kvgate.certificates.envelope import Envelope
from kvgate.ledger.findings import Finding
from kvgate.ledger.rows import RunRecord


def check(place: str, envelope: Envelope, runs: Mapping[str, RunRecord]) -> Iterator[Finding]:
    """Yield what a ticket says of a run and the ledger does not."""
    said = envelope.statement().get("predicate")
    if not isinstance(said, dict) or not isinstance(said.get("run"), str):
        yield Finding("certificate", place, f"{place} is a start ticket that names no run")
        return
    run = runs.get(said["run"])
    if run is None:
        text = (
            f"{place} is the start ticket of run {said['run']:.80}, which is not in the ledger: an attempt was deleted"
        )
        yield Finding("run-missing", said["run"], text)
        return
    pairs = {
        "ticket": run.ticket_digest, "sequence": run.seq, "attempt": run.attempt, "gate": run.gate, "campaign": run.campaign,
        "inventory": run.inventory_digest, "nonce": run.nonce, "started": run.started,
    }  # fmt: skip
    for name, there in pairs.items():
        if said.get(name) != there:
            text = f"{place}: its {name} is not what the ledger has for run {run.id}: one of the two was changed"
            yield Finding("row", run.id, text)
    if said.get("acceptance") != run.acceptance_digest:
        text = f"{place} names another agreement than run {run.id}: a limit was changed after the fact"
        yield Finding("limit", run.id, text)
