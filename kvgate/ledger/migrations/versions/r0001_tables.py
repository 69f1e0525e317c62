"""The tables of the first ledger."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

OUTCOMES = "outcome IN ('PASS', 'STOP', 'UNDECIDED')"


def _counter() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text(), nullable=False) for name in names]


def _number(*names: str) -> list[sa.Column[int]]:
    return [sa.Column(name, sa.BigInteger(), nullable=False) for name in names]


def _id() -> sa.Column[int]:
    return sa.Column("id", _counter(), nullable=False)


def _to_owed(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["run", "clause", "subject"], ["owed.run", "owed.clause", "owed.subject"], name=f"fk_{table}_run_clause_subject"
    )


def upgrade() -> None:
    op.create_table(
        "campaign", _id(), *_text("name", "created"),
        sa.PrimaryKeyConstraint("id", name="pk_campaign"),
        sa.UniqueConstraint("name", name="uq_campaign_name"),
    )  # fmt: skip
    op.create_table(
        "inventory_snapshot", _id(), *_text("digest", "fingerprint", "content", "stored"),
        sa.PrimaryKeyConstraint("id", name="pk_inventory_snapshot"),
        sa.UniqueConstraint("digest", "fingerprint", name="uq_inventory_snapshot_digest_fingerprint"),
    )  # fmt: skip
    op.create_table(
        "acceptance_revision", _id(), *_number("campaign_id", "number"), *_text("digest", "content", "frozen"),
        sa.PrimaryKeyConstraint("id", name="pk_acceptance_revision"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_acceptance_revision_campaign_id"),
        sa.UniqueConstraint("campaign_id", "number", name="uq_acceptance_revision_campaign_id_number"),
    )  # fmt: skip
    op.create_table(
        "run",
        *_text("id"), *_number("seq", "campaign_id"), *_text("gate"), *_number("attempt", "inventory_id", "acceptance_id"),
        *_text("evidence", "code", "operator", "host"),
        sa.Column("simulated", sa.Boolean(), nullable=False),
        *_text("nonce", "prev", "ticket", "ticket_digest", "started", "state"),
        sa.Column("ended", sa.Text(), nullable=True),
        *_text("why"),
        sa.PrimaryKeyConstraint("id", name="pk_run"),
        sa.UniqueConstraint("seq", name="uq_run_seq"),
        sa.UniqueConstraint("campaign_id", "gate", "attempt", name="uq_run_campaign_id_gate_attempt"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_run_campaign_id"),
        sa.ForeignKeyConstraint(["inventory_id"], ["inventory_snapshot.id"], name="fk_run_inventory_id"),
        sa.ForeignKeyConstraint(["acceptance_id"], ["acceptance_revision.id"], name="fk_run_acceptance_id"),
        sa.CheckConstraint("state IN ('started', 'decided', 'interrupted')", name=op.f("ck_run_state")),
        sa.CheckConstraint("attempt >= 1", name=op.f("ck_run_attempt")),
    )  # fmt: skip
    op.create_table(
        "owed", *_text("run", "clause", "subject"), sa.Column("blocking", sa.Boolean(), nullable=False), *_number("place"),
        sa.PrimaryKeyConstraint("run", "clause", "subject", name="pk_owed"),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_owed_run"),
    )  # fmt: skip
    op.create_table(
        "verdict", _id(), *_text("run", "clause", "subject"), *_number("judgement"),
        *_text("outcome", "measured", "required", "unit", "note", "content", "evidence", "basis", "reason", "utc"),
        sa.PrimaryKeyConstraint("id", name="pk_verdict"),
        _to_owed("verdict"),
        sa.CheckConstraint(OUTCOMES, name=op.f("ck_verdict_outcome")),
        sa.CheckConstraint("basis IN ('measured', 'declared')", name=op.f("ck_verdict_basis")),
    )  # fmt: skip
    op.create_index("ix_verdict_run_judgement", "verdict", ["run", "judgement"])
    op.create_table(
        "measurement", _id(), *_text("run", "clause", "subject"), *_number("judgement"), *_text("name"),
        sa.Column("value", sa.Float(53), nullable=True), *_text("unit"),
        sa.PrimaryKeyConstraint("id", name="pk_measurement"),
        _to_owed("measurement"),
    )  # fmt: skip
    op.create_index("ix_measurement_run", "measurement", ["run"])
    op.create_index("ix_measurement_name", "measurement", ["name"])
    op.create_table(
        "decision",
        sa.Column("seq", sa.BigInteger(), nullable=False, autoincrement=False),
        *_text("run"), *_number("judgement"), *_text("kind", "outcome"), *_number("passed", "stopped", "undecided"),
        *_text("why"), *_number("evidence_lines"), *_text("evidence_head", "evidence_root", "content", "prev", "hash", "utc"),
        sa.PrimaryKeyConstraint("seq", name="pk_decision"),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_decision_run"),
        sa.UniqueConstraint("prev", name="uq_decision_prev"),
        sa.UniqueConstraint("hash", name="uq_decision_hash"),
        sa.CheckConstraint(OUTCOMES, name=op.f("ck_decision_outcome")),
        sa.CheckConstraint("kind IN ('decided', 'interrupted')", name=op.f("ck_decision_kind")),
    )  # fmt: skip
    op.create_index("ix_decision_run", "decision", ["run"])
