"""The campaign: which gate may start, on which rack, and what the two parties signed about it. State lies in the ledger alone."""
