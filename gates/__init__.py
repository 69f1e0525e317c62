"""The acceptance document, executable: one folder a gate, one test a clause."""
