"""How fast each arm of the simulated engines is, what its KV takes, and each way in which serving can be wrong."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

#: Qwen3-Coder-480B at bf16: layers, KV heads, head size; bytes of a token over all ranks.
LAYERS, HEADS, HEAD = 62, 8, 128
TOKEN = 2 * LAYERS * HEADS * HEAD * 2
CHUNK = 256

#: Tokens of a page of SGLang's cache.
PAGE = 64

#: TTFT p50 in seconds and output tokens a second by arm and concurrency.
SPEED = {
    "local": {8: (10.17, 43.9), 16: (17.31, 53.6), 32: (35.73, 53.9)},
    "array": {8: (7.39, 57.6), 16: (11.85, 71.9), 32: (25.4, 71.6)},
    "recompute": {8: (74.6, 4.8), 16: (149.3, 4.1), 32: (301.0, 3.9)},
}


@dataclass(frozen=True)
class Flaw:
    """One thing that is wrong with serving. ``role`` is an arm, empty for all; ``rounds`` are numbers of measured windows of an arm.

    ``kind`` names it; ``amount`` says how much, in the unit that its kind has.
    """

    kind: str
    role: str = ""
    amount: float = 0.0
    rounds: tuple[int, ...] = ()
    text: str = ""

    def hits(self, kind: str, role: str, number: int = 0) -> bool:
        """Whether this flaw is the one asked for."""
        return self.kind == kind and self.role in ("", role) and (not self.rounds or number in self.rounds)


@dataclass(frozen=True)
class Unit:
    """One engine of the rack: its unit, arm, endpoint, place of its store (empty: none) and tensor parallel size."""

    name: str
    role: str
    endpoint: str
    store: str
    device: str
    ranks: int
    pages: tuple[str, ...]


def _pages(port: int, ranks: int) -> tuple[str, ...]:
    first = 7000 + (port - 8000) * 100
    return (
        f"http://127.0.0.1:{port}/metrics",
        *(f"http://127.0.0.1:{first + rank}/metrics" for rank in range(1, ranks + 1)),
    )


def _unit(name: str, role: str, port: int, ranks: int) -> Unit:
    store = {"local": "/mnt/nvme0/kv", "array": "/mnt/fx100/kv"}.get(role, "")
    device = {"local": "nvme0n1", "array": "nvme1n1"}.get(role, "")
    suffix = "" if ranks == 8 else "4"
    return Unit(
        f"{name}.service",
        role,
        f"http://127.0.0.1:{port}",
        store + suffix if store else "",
        device,
        ranks,
        _pages(port, ranks),
    )


UNITS = (
    _unit("vllm-local", "local", 8000, 8), _unit("vllm-fx100", "array", 8000, 8), _unit("vllm-recompute", "recompute", 8000, 8),
    _unit("vllm-local-0", "local", 8000, 4), _unit("vllm-local-1", "local", 8001, 4),
    _unit("vllm-fx100-0", "array", 8000, 4), _unit("vllm-fx100-1", "array", 8001, 4),
)  # fmt: skip


def noise(*words: object, spread: float) -> float:
    """A factor near 1 that is the same whenever the same words are said."""
    return 1 + random.Random("/".join(map(str, words))).gauss(0.0, spread)


def speed(role: str, concurrency: int) -> tuple[float, float]:
    """TTFT and throughput of an arm; between and beyond the known concurrencies the nearest one's."""
    table = SPEED[role]
    return table[min(table, key=lambda known: abs(known - concurrency))]


def sglang(unit: Unit) -> Unit:
    """The same engine as one of SGLang: another name, and one page for all its ranks."""
    return replace(unit, name=unit.name.replace("vllm", "sglang"), pages=unit.pages[:1])
