"""G3  The main gate: KV on the array instead of on the node's own disk, and whether that is worth what was agreed."""
