"""Chunk keys of a prompt: each depends on everything before it, as the hashes of prefix caches do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence


def chunked(ids: Sequence[int], chunk: int) -> tuple[str, list[str]]:
    """Return a name of the whole prompt and the keys of its whole chunks."""
    keys: list[str] = []
    chain = hashlib.sha256()
    for start in range(0, len(ids) - chunk + 1, chunk):
        chain.update(" ".join(map(str, ids[start : start + chunk])).encode())
        keys.append(chain.hexdigest()[:32])
    chain.update(" ".join(map(str, ids[len(keys) * chunk :])).encode())
    return chain.hexdigest(), keys


def of_set(seed: int, name: str, index: int, tokens: int, chunk: int) -> tuple[str, list[str]]:
    """The same for a prompt that is known by where it comes from, without making its tokens."""
    name = hashlib.sha256(f"{seed}\0{name}\0{index}".encode()).hexdigest()
    return name, [f"{name[:24]}{place:08x}" for place in range(tokens // chunk)]
