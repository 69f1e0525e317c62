"""The soak: what a host's journal tells of 72 hours, minute by minute, and when that is good enough."""
