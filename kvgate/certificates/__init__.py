"""Who signed what: statements in signed envelopes, keys, trust. Knows no gate and asks no host."""
