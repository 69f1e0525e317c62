"""A real engine on this machine's processors: vLLM with random weights and its fs tier on disk. For procedures, never for ratios."""
