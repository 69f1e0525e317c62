"""Signed envelopes in the ledger. It keeps bytes; whether they prove anything is told by kvgate.certificates."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, Executable, insert, select

from checks.phrase import say
from kvgate.codec import digest
from kvgate.errors import NotAllowed
from kvgate.ledger.models import Campaign, Envelope
from kvgate.ledger.rows import StoredEnvelope


def keep(connection: Connection, campaign: int, found: StoredEnvelope) -> None:
    """Add one; the same bytes a second time add nothing."""
    sha256 = digest(found.content)
    query = select(Envelope.id).where(Envelope.campaign_id == campaign, Envelope.sha256 == sha256)
    if connection.execute(query).first() is None:
        row = {
            "campaign_id": campaign, "run": found.run, "kind": found.kind, "digest": found.digest,
            "content": found.content, "sha256": sha256, "stored": found.stored,
        }  # fmt: skip
        connection.execute(insert(Envelope), row)


def newest(connection: Connection, campaign: int, kind: str, wanted: str | None) -> None:
    """Raise NotAllowed unless the newest statement of a kind is the one that is wanted ("": there is none yet; None: any)."""
    if wanted is None:
        return
    query = select(Envelope.digest).where(Envelope.campaign_id == campaign, Envelope.kind == kind)
    if (connection.execute(query.order_by(Envelope.id.desc()).limit(1)).scalar() or "") != wanted:
        raise NotAllowed(
            say(
                "another process wrote down a {kind} of this campaign meanwhile: look what it was (kvgate {kind} status), then give the "
                "command again",
                kind=kind,
            )
        )


def select_envelopes(
    connection: Connection, campaign: str | None, kind: str | None, run: str | None, document: str | None
) -> list[StoredEnvelope]:
    """Return those asked for, oldest first."""
    query = (
        select(
            Envelope.kind, Campaign.name, Envelope.run, Envelope.digest, Envelope.content, Envelope.stored, Envelope.id
        )
        .join(Campaign, Envelope.campaign_id == Campaign.id)
        .order_by(Envelope.id)
    )
    for column, value in (
        (Campaign.name, campaign), (Envelope.kind, kind), (Envelope.run, run), (Envelope.digest, document),
    ):  # fmt: skip
        if value is not None:
            query = query.where(column == value)
    return _stored(connection, query)


def _stored(connection: Connection, query: Executable) -> list[StoredEnvelope]:
    return [StoredEnvelope(*tuple(row)) for row in connection.execute(query)]


def check(connection: Connection) -> Sequence[str]:
    """Name every envelope whose bytes are not those that were stored."""
    query = select(Envelope.id, Envelope.kind, Envelope.content, Envelope.sha256).order_by(Envelope.id)
    return [
        f"{row.kind} {row.id} was changed: its bytes have another digest"
        for row in connection.execute(query)
        if digest(row.content) != row.sha256
    ]
