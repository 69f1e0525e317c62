"""G2  What one node can do alone, measured so that it can be compared."""
