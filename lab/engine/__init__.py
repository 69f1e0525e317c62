"""A serving engine that is not there: KV in tiers, real files, answers that depend on both, metrics as vLLM and LMCache print."""
