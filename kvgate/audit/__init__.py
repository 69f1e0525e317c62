"""Ledger, evidence and certificates against one another: what one of them says, the others must say too."""
