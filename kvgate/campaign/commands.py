"""The commands that messages of a campaign name, whole: what they say can be typed."""

from __future__ import annotations


def to_run(gate: str) -> str:
    """Return how a gate is run so that its PASS can be certified; every gate but the first makes load."""
    load = "" if gate == "G1" else " --allow-load"
    return f"pytest -m {gate} --inventory FILE{load} --key FILE --party NAME"
