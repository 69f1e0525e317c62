"""Runs that began although a STOP had ended their campaign, or had ended another one on the same rack, and nobody reopened it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from checks.verdict import Outcome
from kvgate.campaign import statements
from kvgate.campaign.statements import Reopening
from kvgate.certificates import envelope as envelopes
from kvgate.certificates.quorum import State, weigh
from kvgate.certificates.trust import Trust
from kvgate.errors import Refused
from kvgate.gate import unfinished
from kvgate.ledger.findings import Finding
from kvgate.ledger.racks import Racks
from kvgate.ledger.repository import Ledger
from kvgate.ledger.rows import RunRecord, StoredDecision


def look(ledger: Ledger, trust: Trust | None) -> Iterator[Finding]:
    """Yield every run that a STOP forbade. Signatures are weighed only by a trust file: without one a reopening is believed."""
    log = ledger.decisions()
    heads = {entry.hash: entry.seq for entry in log}
    racks, opened = Racks(ledger), set(_reopened(ledger, trust))
    ended = [(run, entry) for run in racks.runs if (entry := _end(ledger, run, log)) is not None]
    yield from _unjudged(ledger, racks, log, opened)
    for run, stop in ended:
        if stop.hash in opened:
            continue
        for later in racks.runs:
            at = heads.get(later.prev, 0)
            if later.seq <= run.seq or stop.seq > at or _excused(run, log, racks, at):
                continue
            if later.campaign == run.campaign or (
                later.simulated is run.simulated and racks.shared(run, racks.of(later))
            ):
                text = (
                    f"run {later.id} ({later.gate} of campaign {later.campaign}) began although run {run.id} had ended campaign "
                    f"{run.campaign} on this rack with a STOP of {run.gate} that both parties had not reopened"
                )
                yield Finding("stop-passed-over", later.id, text)
                break


def _unjudged(ledger: Ledger, racks: Racks, log: list[StoredDecision], opened: set[str]) -> Iterator[Finding]:
    """Runs that ended early and that nobody judged to their end, unless both reopened, or the gate passed later."""
    for run in racks.runs:
        own = [one for one in log if one.run == run.id and one.judgement == 1 and one.kind != "waived"]
        if not own or own[-1].hash in opened or not unfinished.unjudged(ledger, run):
            continue
        if not _excused(run, log, racks, log[-1].seq):
            text = f"run {run.id} ended early, and what it had seen was not all judged, which may be a STOP: kvgate close {run.id}"
            yield Finding("unjudged", run.id, text)


def _end(ledger: Ledger, run: RunRecord, log: list[StoredDecision]) -> StoredDecision | None:
    """Return the entry by which a run came to STOP, or ended early after a verdict had; None for every other run."""
    own = [one for one in log if one.run == run.id and one.judgement == 1 and one.kind != "waived"]
    if not own:
        return None
    last = own[-1]
    if last.kind == "decided":
        return last if last.outcome is Outcome.STOP else None
    return last if stopped_early(ledger, run) else None


def stopped_early(ledger: Ledger, run: RunRecord) -> bool:
    """Whether a verdict of a run that ended early had come to STOP."""
    return any(item.blocking and row.verdict.outcome is Outcome.STOP for item, row in ledger.recorded(run).items())


def _excused(run: RunRecord, log: list[StoredDecision], racks: Racks, at: int) -> bool:
    """Whether both had accepted it by then, or its gate had passed in a later attempt, which is looked at by itself."""
    passed = {
        one.id for one in racks.runs if (one.campaign, one.gate) == (run.campaign, run.gate) and one.seq > run.seq
    }
    return any(
        (one.kind == "waived" and one.run == run.id and one.outcome is not Outcome.STOP)
        or (one.run in passed and one.judgement == 1 and one.outcome is Outcome.PASS)
        for one in log
        if one.seq <= at
    )


def _reopened(ledger: Ledger, trust: Trust | None) -> Iterator[str]:
    """Hashes of the decisions after which both parties let a campaign go on."""
    for stored in ledger.envelopes(kind=statements.REOPENING):
        try:
            envelope = envelopes.read(stored.content, "reopening")
            said = statements.read(envelope, statements.REOPENING, Reopening)
        except Refused:
            continue  # named among the deviations
        if len(envelope.signatures) < 2 or (
            trust is not None and weigh(envelope, trust, datetime.now(UTC)).state is not State.FINAL
        ):
            continue
        yield from (stop.decision for stop in said.stops)
