"""Machinery: SSH, evidence, ledger, reports. All the I/O, no knowledge of what is good enough."""
