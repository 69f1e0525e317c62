"""Greedy answers: the same words for the same prompt and the same KV; other KV, other words."""

from __future__ import annotations

import hashlib

_WORDS = (
    "the", "array", "keeps", "what", "was", "computed", "and", "gives", "it", "back", "when", "asked", "so", "that",
    "no", "token", "is", "made", "twice", "while", "a", "queue", "of", "prompts", "waits", "for", "its", "turn", "on",
    "link", "carries", "blocks", "from", "flash", "to", "memory",
)  # fmt: skip


def words(prompt: str, held: tuple[str, ...], count: int, turn: int = 0) -> list[str]:
    """Return ``count`` words; ``held`` is what the KV holds beside its own, ``turn`` numbers answers that differ each time."""
    seed = "\0".join((prompt, *held))
    raw = hashlib.shake_128(seed.encode()).digest(max(count, 1))
    found = [_WORDS[byte % len(_WORDS)] for byte in raw[:count]]
    if turn and len(found) > 1:
        found[-1] = _WORDS[(raw[-1] + turn) % len(_WORDS)]
    return found


def noise(prompt: str, count: int) -> list[str]:
    """Return what comes of KV that is none."""
    del prompt
    return ["\ufffd!"] * count
