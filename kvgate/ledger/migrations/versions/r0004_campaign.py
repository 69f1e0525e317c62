"""What answered in a run, and decisions that a waiver changed: the kind of a decision may be ``waived`` too."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

KINDS = "kind IN ('decided', 'interrupted', 'waived')"

#: The decision log as SQLite writes it down anew: there a CHECK cannot be changed in place.
_DECISION = """
CREATE TABLE decision_new (
    seq BIGINT NOT NULL, run TEXT NOT NULL, judgement BIGINT NOT NULL, kind TEXT NOT NULL, outcome TEXT NOT NULL,
    passed BIGINT NOT NULL, stopped BIGINT NOT NULL, undecided BIGINT NOT NULL, why TEXT NOT NULL,
    evidence_lines BIGINT NOT NULL, evidence_head TEXT NOT NULL, evidence_root TEXT NOT NULL, content TEXT NOT NULL,
    prev TEXT NOT NULL, hash TEXT NOT NULL, utc TEXT NOT NULL,
    CONSTRAINT pk_decision PRIMARY KEY (seq),
    CONSTRAINT fk_decision_run FOREIGN KEY(run) REFERENCES run (id),
    CONSTRAINT uq_decision_prev UNIQUE (prev),
    CONSTRAINT uq_decision_hash UNIQUE (hash),
    CONSTRAINT ck_decision_outcome CHECK (outcome IN ('PASS', 'STOP', 'UNDECIDED')),
    CONSTRAINT ck_decision_kind CHECK (kind IN ('decided', 'interrupted', 'waived'))
)
"""


def upgrade() -> None:
    counter = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    texts = [
        sa.Column(name, sa.Text(), nullable=False) for name in ("run", "host", "scope", "content", "untold", "utc")
    ]
    op.create_table(
        "seen",
        sa.Column("id", counter, nullable=False),
        *texts,
        sa.PrimaryKeyConstraint("id", name="pk_seen"),
        sa.ForeignKeyConstraint(["run"], ["run.id"], name="fk_seen_run"),
    )
    op.create_index("ix_seen_run", "seen", ["run"])
    if op.get_context().dialect.name == "postgresql":
        refuse = "EXECUTE FUNCTION kvgate_append_only()"
        op.execute(f"CREATE TRIGGER seen_no_change BEFORE UPDATE OR DELETE ON seen FOR EACH ROW {refuse}")
        op.execute(f"CREATE TRIGGER seen_no_truncate BEFORE TRUNCATE ON seen FOR EACH STATEMENT {refuse}")
        op.drop_constraint(op.f("ck_decision_kind"), "decision", type_="check")
        op.create_check_constraint(op.f("ck_decision_kind"), "decision", KINDS)
        return
    _sqlite()


def _sqlite() -> None:
    guards = (("delete", "DELETE"), ("update", "UPDATE"), ("replace", "INSERT"))
    for name, _ in guards:
        op.execute(f"DROP TRIGGER decision_no_{name}")
    op.execute(_DECISION)
    op.execute("INSERT INTO decision_new SELECT * FROM decision ORDER BY seq")
    op.execute("DROP TABLE decision")
    op.execute("ALTER TABLE decision_new RENAME TO decision")
    op.create_index("ix_decision_run", "decision", ["run"])
    for table, key in (("decision", "seq"), ("seen", "id")):
        for name, what in guards:
            there = f" WHEN EXISTS (SELECT 1 FROM {table} WHERE {key} = NEW.{key})" if name == "replace" else ""  # noqa: S608 - names of our own tables
            refuse = f"BEGIN SELECT RAISE(ABORT, 'append-only: rows of {table} stay as they are'); END"
            op.execute(f"CREATE TRIGGER {table}_no_{name} BEFORE {what} ON {table}{there} {refuse}")
