"""What an engine and its store's workers count, from the start of their process on."""

from __future__ import annotations

from dataclasses import dataclass

from lab.engine.shape import Shape
from lab.engine.tiers import Found


@dataclass
class Counts:
    """Counters of one process. Tokens by source add up to the prompt tokens."""

    created: float = 0.0
    requests: int = 0
    prompt: int = 0
    generated: int = 0
    computed: int = 0
    device: int = 0
    host: int = 0
    store: int = 0
    preempted: int = 0
    aborted: int = 0
    requested: int = 0
    hits: int = 0
    lookups_without: int = 0
    stored: int = 0
    read_bytes: int = 0
    read_files: int = 0
    written_bytes: int = 0
    load_failures: int = 0
    store_failures: int = 0
    hot: int = 0
    ttft: float = 0.0
    queued: float = 0.0

    def add(self, found: Found, tokens: int, out: int, shape: Shape) -> None:
        """Count one request."""
        self.requests += 1
        self.prompt += tokens
        self.generated += out
        self.computed += found.computed
        self.device += found.device
        self.host += found.host
        self.store += found.store
        self.requested += tokens
        self.hits += found.hits + (found.host if found.host else 0)
        self.lookups_without += int(not found.hits)
        self.stored += found.stored
        self.read_bytes += found.read + found.memory
        self.read_files += found.hits // shape.chunk * shape.ranks
        self.written_bytes += found.stored * shape.token_bytes
        self.load_failures += found.failed_loads
        self.store_failures += found.failed_writes
