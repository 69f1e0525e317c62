"""Alembic's entry: one connection, already inside the transaction and the lock of kvgate.ledger.schema."""

from __future__ import annotations

from alembic import context
from sqlalchemy import Connection

from kvgate.ledger.models import Base

connection = context.config.attributes["connection"]
if not isinstance(connection, Connection):
    raise TypeError("migrations are run by opening a ledger")
context.configure(connection=connection, target_metadata=Base.metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
