"""Signed envelopes: certificates, waivers, reopenings, start tickets, and time stamps on them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "envelope",
        sa.Column("id", counter, nullable=False),
        sa.Column("campaign_id", sa.BigInteger(), nullable=False),
        sa.Column("run", sa.Text(), nullable=True),
        *[sa.Column(name, sa.Text(), nullable=False) for name in ("kind", "digest")],
        sa.Column("content", sa.LargeBinary(), nullable=False),
        *[sa.Column(name, sa.Text(), nullable=False) for name in ("sha256", "stored")],
        sa.PrimaryKeyConstraint("id", name="pk_envelope"),
        sa.ForeignKeyConstraint(["campaign_id"], ["campaign.id"], name="fk_envelope_campaign_id"),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_envelope_run"),
        sa.UniqueConstraint("campaign_id", "sha256", name="uq_envelope_campaign_id_sha256"),
    )
    op.create_index("ix_envelope_digest", "envelope", ["digest"])
    op.create_index("ix_envelope_run", "envelope", ["run"])
    if op.get_context().dialect.name == "postgresql":
        refuse = "EXECUTE FUNCTION kvgate_append_only()"
        op.execute(f"CREATE TRIGGER envelope_no_change BEFORE UPDATE OR DELETE ON envelope FOR EACH ROW {refuse}")
        op.execute(f"CREATE TRIGGER envelope_no_truncate BEFORE TRUNCATE ON envelope FOR EACH STATEMENT {refuse}")
        return
    refuse = "BEGIN SELECT RAISE(ABORT, 'append-only: rows of envelope stay as they are'); END"
    there = "WHEN EXISTS (SELECT 1 FROM envelope WHERE id = NEW.id)"
    op.execute(f"CREATE TRIGGER envelope_no_delete BEFORE DELETE ON envelope {refuse}")
    op.execute(f"CREATE TRIGGER envelope_no_update BEFORE UPDATE ON envelope {refuse}")
    op.execute(f"CREATE TRIGGER envelope_no_replace BEFORE INSERT ON envelope {there} {refuse}")
