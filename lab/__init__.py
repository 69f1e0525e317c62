"""A rack that is not there: real SSH servers, captured answers, and faults. Imports nothing of what judges it."""
