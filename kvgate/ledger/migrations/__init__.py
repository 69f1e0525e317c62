"""How older ledgers become this one; run by kvgate.ledger.schema, never by hand."""
