"""The block in which an engine reads its KV: tokens of a chunk times the bytes that a token takes on one rank.

A store keeps what each rank has of a chunk in one piece (a file of LMCache, a page of HiCache) and reads it in one piece. Blocks
that are larger are easier to read: where several shapes keep KV on one mount the smallest of their chunks counts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from checks.parsers import model_config
from checks.parsers.model_config import ModelConfig
from checks.phrase import Phrase, beside, say
from checks.probe import Probe
from checks.serving.procedure import bytes_of
from checks.serving.site import Site
from checks.verdict import Outcome, Verdict

#: Bytes that direct I/O is a multiple of on every NVMe disk: logical blocks have 512 or 4096.
LOGICAL = 4096


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one rank keeps of a chunk in one piece: ``tokens`` of ``rank_bytes`` each, and ``header`` bytes of its store."""

    shape: str
    tokens: int
    rank_bytes: int
    header: int = 0

    @property
    def size(self) -> int:
        """Bytes of it."""
        return self.tokens * self.rank_bytes + self.header

    @property
    def block(self) -> int:
        """Bytes that are read for it past the page cache: whole logical blocks."""
        return _whole(self.size)


@dataclass(frozen=True, slots=True)
class Block:
    """Bytes in which KV is read, and where that number comes from. ``known``: it is the engine's, or the parties let it stand."""

    size: int
    why: Phrase
    known: bool = True


def config(path: str) -> Probe[ModelConfig]:
    """The shape of a model, from its config.json."""
    return Probe("model-config", ("cat", "--", path), model_config.parse)


def smallest(sites: Iterable[Site], found: ModelConfig) -> Chunk:
    """The smallest chunk of several shapes. Raises NoOneNumber where the bytes of a token cannot be told for one of them."""
    chunks = [Chunk(one.shape, one.chunk, bytes_of(one, found).rank_bytes, one.header) for one in sites]
    return min(chunks, key=lambda chunk: chunk.size)


def agreed(size: int) -> Block:
    """The agreed block, where nobody orders an engine that would read others."""
    shown = _shown(size)
    return Block(
        _whole(size), say("no engine is ordered for this node: KV is read in the agreed `block`, {size}", size=shown)
    )


def of_engine(chunk: Chunk | Phrase, size: int, stands: bool) -> Block:
    """The chunk of the engine; where it cannot be told (``chunk`` says why) the agreed block of ``size`` bytes.

    ``stands``: the parties agreed that this block stands for a chunk that cannot be told.
    """
    if isinstance(chunk, Chunk):
        return Block(chunk.block, beside(_sum(chunk), _against(chunk, size)) or _sum(chunk))
    if stands:
        why = say(
            "KV is read in the agreed `block`, {size}, which the parties let stand (`block_stands_in`) for the engine's chunk: {why}",
            size=_shown(size), why=chunk,
        )  # fmt: skip
        return Block(_whole(size), why)
    why = say(
        "measured with the agreed `block`, {size}, and nothing shows that the engine reads such ones: {why}; let the engine's "
        "config.json be read, or agree on `block` with `block_stands_in: true` in the campaign's acceptance file",
        size=_shown(size), why=chunk,
    )  # fmt: skip
    return Block(_whole(size), why, known=False)


def told(verdict: Verdict, block: Block) -> Verdict:
    """Return the verdict with the block that it was measured with. Other blocks than the engine's decide nothing, either way:
    larger ones are easier to read, and smaller ones harder.
    """
    if block.known or verdict.outcome is Outcome.UNDECIDED:
        return replace(verdict, note=beside(verdict.note, block.why))
    return replace(verdict, outcome=Outcome.UNDECIDED, note=beside(block.why, verdict.note))


def _sum(chunk: Chunk) -> Phrase:
    tokens, each, size = f"{chunk.tokens:,}", f"{chunk.rank_bytes:,}", f"{chunk.size:,}"
    if chunk.header:
        made = say(
            "KV chunk of {shape}: {tokens} tokens x {each} bytes on a rank + {header} bytes of header = {size} bytes",
            shape=chunk.shape, tokens=tokens, each=each, header=chunk.header, size=size,
        )  # fmt: skip
    else:
        made = say(
            "KV chunk of {shape}: {tokens} tokens x {each} bytes on a rank = {size} bytes",
            shape=chunk.shape, tokens=tokens, each=each, size=size,
        )  # fmt: skip
    if chunk.block == chunk.size:
        return made
    whole = say(
        "read as {block} bytes, whole blocks of {logical} for direct I/O", block=f"{chunk.block:,}", logical=LOGICAL
    )
    return beside(made, whole) or made


def _against(chunk: Chunk, size: int) -> Phrase | None:
    if _whole(size) == chunk.block:
        return None
    return say("not the agreed `block`, {size}: the engine reads its own chunks", size=_shown(size))


def _whole(size: int) -> int:
    return -(-size // LOGICAL) * LOGICAL


def _shown(size: int) -> str:
    return f"{size / 2**20:g} MiB"
