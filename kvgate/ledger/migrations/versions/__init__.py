"""One module a step, in the order that each names."""
