"""Rows can no longer be changed or deleted, whoever holds the connection."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

#: Table and its key: SQLite deletes without a trigger when a row is inserted "or replaced".
APPEND_ONLY = {
    "campaign": "id", "inventory_snapshot": "id", "acceptance_revision": "id", "run": "id", "verdict": "id",
    "measurement": "id", "decision": "seq", "owed": "",
}  # fmt: skip

FIXED = (
    "id, seq, campaign_id, gate, attempt, inventory_id, acceptance_id, evidence, code, operator, host, simulated, nonce, "
    "prev, ticket, ticket_digest, started"
)


def upgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        _postgresql()
    else:
        _sqlite()


def _sqlite() -> None:
    for table, key in APPEND_ONLY.items():
        refuse = f"BEGIN SELECT RAISE(ABORT, 'append-only: rows of {table} stay as they are'); END"
        op.execute(f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {refuse}")
        if table != "run":
            op.execute(f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {refuse}")
        same = f"{key} = NEW.{key}" if key else "run = NEW.run AND clause = NEW.clause AND subject = NEW.subject"
        there = f"WHEN EXISTS (SELECT 1 FROM {table} WHERE {same})"  # noqa: S608 - names of our own tables
        op.execute(f"CREATE TRIGGER {table}_no_replace BEFORE INSERT ON {table} {there} {refuse}")
    refuse = "BEGIN SELECT RAISE(ABORT, 'append-only: a run only gets its end, and only once'); END"
    op.execute(f"CREATE TRIGGER run_fixed BEFORE UPDATE OF {FIXED} ON run {refuse}")
    op.execute(f"CREATE TRIGGER run_decided BEFORE UPDATE ON run WHEN OLD.state = 'decided' {refuse}")


def _postgresql() -> None:
    op.execute(
        "CREATE FUNCTION kvgate_append_only() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'append-only: rows of % stay as they are', TG_TABLE_NAME; END $$"
    )
    refuse = "EXECUTE FUNCTION kvgate_append_only()"
    for table in APPEND_ONLY:
        what = "DELETE" if table == "run" else "UPDATE OR DELETE"
        op.execute(f"CREATE TRIGGER {table}_no_change BEFORE {what} ON {table} FOR EACH ROW {refuse}")
        op.execute(f"CREATE TRIGGER {table}_no_truncate BEFORE TRUNCATE ON {table} FOR EACH STATEMENT {refuse}")
    op.execute(f"CREATE TRIGGER run_fixed BEFORE UPDATE OF {FIXED} ON run FOR EACH ROW {refuse}")
    op.execute(f"CREATE TRIGGER run_decided BEFORE UPDATE ON run FOR EACH ROW WHEN (OLD.state = 'decided') {refuse}")
