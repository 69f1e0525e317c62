"""The tables of the ledger. Rows are added, never changed; only a run that is not decided yet may get its end."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Text,
    UniqueConstraint,
)  # fmt: skip
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

#: Numbers that only count up; SQLite counts up by itself in an INTEGER only.
Counter = BigInteger().with_variant(Integer, "sqlite")

OUTCOMES = "('PASS', 'STOP', 'UNDECIDED')"


class Base(DeclarativeBase):
    """Names of constraints are the same in every database, so that migrations can address them."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {str: Text, int: BigInteger, bool: Boolean, float: Float(53), bytes: LargeBinary}  # noqa: RUF012 - SQLAlchemy's name


class Campaign(Base):
    """One delivery that two parties accept together."""

    __tablename__ = "campaign"
    id: Mapped[int] = mapped_column(Counter, primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    created: Mapped[str]


class InventorySnapshot(Base):
    """An inventory as it was read; ``fingerprint`` is the digest of the hardware it orders."""

    __tablename__ = "inventory_snapshot"
    id: Mapped[int] = mapped_column(Counter, primary_key=True)
    digest: Mapped[str]
    fingerprint: Mapped[str]
    content: Mapped[str]
    stored: Mapped[str]
    __table_args__ = (UniqueConstraint("digest", "fingerprint"),)


class AcceptanceRevision(Base):
    """The clauses in force, frozen when the first run of a campaign by them starts. A changed text is a new number."""

    __tablename__ = "acceptance_revision"
    id: Mapped[int] = mapped_column(Counter, primary_key=True)
    campaign_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("campaign.id"))
    number: Mapped[int]
    digest: Mapped[str]
    content: Mapped[str]
    frozen: Mapped[str]
    __table_args__ = (UniqueConstraint("campaign_id", "number"),)


class Run(Base):
    """One attempt at a gate. ``ticket`` is what was fixed before the first question; ``prev`` the decision before it."""

    __tablename__ = "run"
    id: Mapped[str] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(unique=True)
    campaign_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("campaign.id"))
    gate: Mapped[str]
    attempt: Mapped[int]
    inventory_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("inventory_snapshot.id"))
    acceptance_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("acceptance_revision.id"))
    evidence: Mapped[str]
    code: Mapped[str]
    operator: Mapped[str]
    host: Mapped[str]
    simulated: Mapped[bool]
    nonce: Mapped[str]
    prev: Mapped[str]
    ticket: Mapped[str]
    ticket_digest: Mapped[str]
    started: Mapped[str]
    state: Mapped[str]
    ended: Mapped[str | None]
    why: Mapped[str]
    __table_args__ = (
        UniqueConstraint("campaign_id", "gate", "attempt"),
        CheckConstraint("state IN ('started', 'decided', 'interrupted')", name="state"),
        CheckConstraint("attempt >= 1", name="attempt"),
    )


class OwedRow(Base):
    """One verdict that a run owes, written before it looks."""

    __tablename__ = "owed"
    run: Mapped[str] = mapped_column(ForeignKey("run.id"), primary_key=True)
    clause: Mapped[str] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(primary_key=True)
    blocking: Mapped[bool]
    place: Mapped[int]


class VerdictEntry(Base):
    """One verdict. A verdict given again is another row; ``judgement`` 1 is the run's own, later ones re-judge its evidence."""

    __tablename__ = "verdict"
    id: Mapped[int] = mapped_column(Counter, primary_key=True)
    run: Mapped[str]
    clause: Mapped[str]
    subject: Mapped[str]
    judgement: Mapped[int]
    outcome: Mapped[str]
    measured: Mapped[str]
    required: Mapped[str]
    unit: Mapped[str]
    note: Mapped[str]
    content: Mapped[str]
    evidence: Mapped[str]
    basis: Mapped[str]
    reason: Mapped[str]
    utc: Mapped[str]
    __table_args__ = (
        ForeignKeyConstraint(["run", "clause", "subject"], ["owed.run", "owed.clause", "owed.subject"]),
        CheckConstraint(f"outcome IN {OUTCOMES}", name="outcome"),
        CheckConstraint("basis IN ('measured', 'declared')", name="basis"),
        Index(None, "run", "judgement"),
    )


class Measurement(Base):
    """One number behind a verdict; NULL where the number was not finite."""

    __tablename__ = "measurement"
    id: Mapped[int] = mapped_column(Counter, primary_key=True)
    run: Mapped[str]
    clause: Mapped[str]
    subject: Mapped[str]
    judgement: Mapped[int]
    name: Mapped[str]
    value: Mapped[float | None]
    unit: Mapped[str]
    __table_args__ = (
        ForeignKeyConstraint(["run", "clause", "subject"], ["owed.run", "owed.clause", "owed.subject"]),
        Index(None, "run"),
        Index(None, "name"),
    )


class DecisionEntry(Base):
    """One entry of the decision log. ``hash`` is the SHA-256 of ``content``, which names ``prev``, the entry before."""

    __tablename__ = "decision"
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    run: Mapped[str] = mapped_column(ForeignKey("run.id"))
    judgement: Mapped[int]
    kind: Mapped[str]
    outcome: Mapped[str]
    passed: Mapped[int]
    stopped: Mapped[int]
    undecided: Mapped[int]
    why: Mapped[str]
    evidence_lines: Mapped[int]
    evidence_head: Mapped[str]
    evidence_root: Mapped[str]
    content: Mapped[str]
    prev: Mapped[str] = mapped_column(unique=True)
    hash: Mapped[str] = mapped_column(unique=True)
    utc: Mapped[str]
    __table_args__ = (
        CheckConstraint(f"outcome IN {OUTCOMES}", name="outcome"),
        CheckConstraint("kind IN ('decided', 'interrupted', 'waived')", name="kind"),
        Index(None, "run"),
    )


class Envelope(Base):
    """One signed document as its bytes. ``digest`` names the statement: a draft and its co-signed successor share it."""

    __tablename__ = "envelope"
    id: Mapped[int] = mapped_column(Counter, primary_key=True)
    campaign_id: Mapped[int] = mapped_column(BigInteger, ForeignKey("campaign.id"))
    run: Mapped[str | None] = mapped_column(ForeignKey("run.id"))
    kind: Mapped[str]
    digest: Mapped[str]
    content: Mapped[bytes]
    sha256: Mapped[str]
    stored: Mapped[str]
    __table_args__ = (UniqueConstraint("campaign_id", "sha256"), Index(None, "digest"), Index(None, "run"))


class SeenEntry(Base):
    """What answered in a run, one scope of one host: a JSON list of identities, or why they could not be told."""

    __tablename__ = "seen"
    id: Mapped[int] = mapped_column(Counter, primary_key=True)
    run: Mapped[str] = mapped_column(ForeignKey("run.id"))
    host: Mapped[str]
    scope: Mapped[str]
    content: Mapped[str]
    untold: Mapped[str]
    utc: Mapped[str]
    __table_args__ = (Index(None, "run"),)


#: Tables whose rows are never changed and never deleted.
APPEND_ONLY = (
    "campaign", "inventory_snapshot", "acceptance_revision", "owed", "verdict", "measurement", "decision", "envelope",
    "seen",
)  # fmt: skip

#: Columns of a run that may change until it is decided.
RUN_END = ("state", "ended", "why")
