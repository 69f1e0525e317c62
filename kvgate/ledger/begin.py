"""The rows that a run stands on: campaign, inventory, agreement, what is owed. Each text is stored once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields

from sqlalchemy import Connection, insert, select

from checks.decision import Owed
from checks.phrase import say
from kvgate.codec import digest
from kvgate.errors import NotAllowed
from kvgate.ledger import envelopes
from kvgate.ledger.models import AcceptanceRevision, Campaign, DecisionEntry, InventorySnapshot, OwedRow, Run
from kvgate.ledger.rows import RunHandle, RunRecord, StoredEnvelope


def alone(connection: Connection, name: str, after: int) -> None:
    """Raise NotAllowed when an attempt of the campaign is open, or something of it was decided after entry ``after``."""
    query = (
        select(Run.id, Run.gate, Run.attempt, Run.host, Run.started)
        .join(Campaign, Run.campaign_id == Campaign.id)
        .where(Campaign.name == name, Run.state == "started")
    )
    if (found := connection.execute(query).first()) is not None:
        raise NotAllowed(still_open(*found))
    newer = (
        select(DecisionEntry.seq)
        .join(Run, DecisionEntry.run == Run.id)
        .join(Campaign, Run.campaign_id == Campaign.id)
        .where(Campaign.name == name, DecisionEntry.seq > after)
    )
    if connection.execute(newer.limit(1)).first() is not None:
        raise NotAllowed(say("another process decided something in this campaign meanwhile: start again"))


def still_open(run: str, gate: str, attempt: int, host: str, started: str) -> str:
    """Say which attempt is open and how it gets its end."""
    return (
        f"run {run} (attempt {attempt} at {gate}, started {started[:19]}Z on {host}) has no end yet: let it end if it still "
        f"runs; else take it up again (pytest -m {gate} --only-stale ...), or close it, which judges what it saw: "
        f"kvgate close {run} --reason '...'"
    )


def campaign(connection: Connection, name: str, utc: str) -> int:
    """Id of the campaign, which is made by its first run."""
    found = connection.execute(select(Campaign.id).where(Campaign.name == name)).scalar()
    if found is None:
        connection.execute(insert(Campaign), {"name": name, "created": utc})
        found = connection.execute(select(Campaign.id).where(Campaign.name == name)).scalar_one()
    return found


def inventory(connection: Connection, content: str, fingerprint: str, utc: str) -> tuple[int, str]:
    """Id and digest of the inventory's text."""
    text_digest = digest(content)
    table = InventorySnapshot
    query = select(table.id).where(table.digest == text_digest, table.fingerprint == fingerprint)
    found = connection.execute(query).scalar()
    if found is None:
        row = {"digest": text_digest, "fingerprint": fingerprint, "content": content, "stored": utc}
        connection.execute(insert(table), row)
        found = connection.execute(query).scalar_one()
    return found, text_digest


def acceptance(connection: Connection, campaign_id: int, content: str, text_digest: str, utc: str) -> tuple[int, int]:
    """Id and number of the agreement's revision; a text other than the campaign's newest opens a new one."""
    table = AcceptanceRevision
    query = select(table.id, table.number, table.digest).where(table.campaign_id == campaign_id)
    newest = connection.execute(query.order_by(table.number.desc()).limit(1)).first()
    if newest is not None and newest.digest == text_digest:
        return newest.id, newest.number
    revision = 1 if newest is None else newest.number + 1
    row = {"campaign_id": campaign_id, "number": revision, "digest": text_digest, "content": content, "frozen": utc}
    connection.execute(insert(table), row)
    return connection.execute(query.where(table.number == revision)).one().id, revision


def owed(connection: Connection, run: str, items: Sequence[Owed]) -> None:
    """Write down what the run owes."""
    rows = [
        {"run": run, "clause": item.clause, "subject": item.subject, "blocking": item.blocking, "place": place}
        for place, item in enumerate(items)
    ]
    connection.execute(insert(OwedRow), rows)


def ticket(
    connection: Connection, campaign_id: int, found: RunRecord, signed: Callable[[RunHandle], StoredEnvelope] | None
) -> None:
    """Keep the signed start ticket of the run, where it gets one."""
    if signed is not None:
        envelopes.keep(connection, campaign_id, signed(handle(found)))


def handle(found: RunRecord) -> RunHandle:
    """What was fixed of a run before it looked."""
    return RunHandle(**{field.name: getattr(found, field.name) for field in fields(RunHandle)})
