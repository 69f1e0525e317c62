"""G1: the rack that arrived is the rack that was ordered, and nothing in it is broken."""
