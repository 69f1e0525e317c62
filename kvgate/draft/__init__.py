"""A first inventory from live hosts: what was seen, never what was ordered; whatever a person must decide stays a placeholder."""
