"""What an engine serves and how fast its parts are; seconds are those of the simulated machine, whoever counts them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One engine. ``rank_bytes`` a token and rank, ``chunk`` tokens a file, ``header`` bytes before them, ``ranks`` files a chunk.

    ``read`` and ``write`` are the store's device in bytes a second, ``restore`` seconds a token that the engine itself needs to
    take KV in, ``prefill`` tokens a second, ``gap`` seconds from token to token. ``device_tokens`` and ``host_tokens`` are what
    HBM and DRAM hold. ``weight``: each byte of a file stands for so many of the machine's (files of a test stay small).
    ``noise`` is the deviation from request to request.
    """

    model: str = "Qwen3-Coder-480B-A35B-Instruct-FP8"
    path: str = "/models/Qwen3-Coder-480B-A35B-Instruct-FP8"
    kind: str = "lmcache-fs"
    version: str = "0.20.1"
    store_version: str = "0.4.4"
    dtype: str = "bfloat16"
    rank_bytes: int = 31_744
    ranks: int = 8
    chunk: int = 256
    header: int = 0
    read: float = 6.8e9
    write: float = 4.0e9
    memory: float = 60e9
    restore: float = 20.0e-6
    prefill: float = 10_000.0
    gap: float = 0.012
    device_tokens: int = 3_700_000
    host_tokens: int = 0
    block: int = 16
    weight: float = 1.0
    noise: float = 0.02
    direct: bool = True

    @property
    def file_bytes(self) -> int:
        """Bytes of one chunk file."""
        return self.chunk * self.rank_bytes + self.header

    @property
    def token_bytes(self) -> int:
        """Bytes of one token over all ranks."""
        return self.rank_bytes * self.ranks
