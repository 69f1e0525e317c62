"""Ledgers as older versions wrote them, one file a schema, each with data in it; ``python -m tests.ledger.history`` adds one."""
