"""The block of KV-shaped reads: the engine's own chunk to the byte, and what is said where nobody can tell it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from checks.phrase import say
from checks.serving import chunk
from checks.serving.chunk import Chunk, smallest
from checks.serving.kv import NoOneNumber
from checks.verdict import Outcome, Verdict
from tests.serving.experiment import rack_site
from tests.serving.test_kv import CODER, DEEPSEEK

MIB = 2**20
SITE = rack_site()
PASSED = Verdict.of(True, "7 GB/s", "at least 1 GB/s")
STOPPED = Verdict.of(False, "0.1 GB/s", "at least 1 GB/s")
WHY = say("config.json is not there")


@pytest.mark.parametrize(
    ("config", "more", "tokens", "size"),
    [
        (CODER, {}, 256, 8_126_464),  # 2 x 62 layers x 1 head x 128 x 2 bytes, as the store's files are long
        (CODER, {"tensor_parallel": 4}, 256, 16_252_928),
        (CODER, {"kv_dtype": "fp8"}, 256, 4_063_232),
        (CODER, {"tensor_parallel": 16}, 256, 8_126_464),  # more ranks than heads: each rank still keeps a whole one
        (CODER, {"chunk": 16}, 16, 507_904),
        (DEEPSEEK, {}, 256, 17_989_632),  # 61 x (512 + 64) x 2: a latent vector is not spread over ranks
        (DEEPSEEK, {"tensor_parallel": 4}, 256, 17_989_632),
    ],
)
def test_a_chunk_is_its_tokens_times_their_bytes_on_one_rank(
    config: chunk.ModelConfig, more: dict[str, Any], tokens: int, size: int
) -> None:
    found = smallest([replace(SITE, **more)], config)
    assert (found.tokens, found.size) == (tokens, size)


def test_of_several_shapes_on_a_mount_the_one_that_is_harder_to_read_counts() -> None:
    found = smallest([replace(SITE, shape="tp4x2", tensor_parallel=4), SITE], CODER)
    assert (found.shape, found.size) == ("tp8", 8_126_464)


def test_one_shape_whose_bytes_nobody_knows_leaves_all_of_them_open() -> None:
    with pytest.raises(NoOneNumber):
        smallest([SITE, replace(SITE, tensor_parallel=3)], CODER)


def test_the_verdict_shows_the_arithmetic_and_that_it_is_not_the_agreed_block() -> None:
    block = chunk.of_engine(Chunk("tp8", 256, 31_744), MIB, stands=False)
    found = chunk.told(PASSED, block)
    assert (block.size, found.outcome) == (8_126_464, Outcome.PASS)
    assert "256 tokens x 31,744 bytes on a rank = 8,126,464 bytes" in str(found.note)
    assert "not the agreed `block`, 1 MiB" in str(found.note)


def test_a_chunk_that_is_as_agreed_is_not_told_from_it() -> None:
    block = chunk.of_engine(Chunk("tp8", 256, 4096), MIB, stands=False)
    assert block.size == MIB
    assert "agreed" not in str(block.why)


@pytest.mark.parametrize(("header", "size"), [(28, 8_130_560), (4096, 8_130_560), (4097, 8_134_656)])
def test_a_chunk_with_a_header_is_read_in_whole_logical_blocks(header: int, size: int) -> None:
    block = chunk.of_engine(Chunk("tp8", 256, 31_744, header), MIB, stands=False)
    assert block.size == size
    assert f"+ {header} bytes of header" in str(block.why)
    assert (f"read as {size:,} bytes" in str(block.why)) is (header != 4096)


def test_without_an_engine_the_agreed_block_stands_and_is_named() -> None:
    found = chunk.told(PASSED, chunk.agreed(MIB))
    assert found.outcome is Outcome.PASS
    assert "no engine is ordered for this node" in str(found.note)
    assert "1 MiB" in str(found.note)


@pytest.mark.parametrize("verdict", [PASSED, STOPPED, Verdict.undecided(say("the rounds vary"))])
def test_blocks_that_nobody_shows_to_be_the_engine_s_decide_nothing(verdict: Verdict) -> None:
    found = chunk.told(verdict, chunk.of_engine(WHY, MIB, stands=False))
    assert found.outcome is Outcome.UNDECIDED
    assert (found.measured, found.required) == (verdict.measured, verdict.required)
    assert "config.json is not there" in str(found.note)
    assert "block_stands_in: true" in str(found.note)


@pytest.mark.parametrize("verdict", [PASSED, STOPPED])
def test_a_block_that_the_parties_let_stand_decides_and_says_so(verdict: Verdict) -> None:
    found = chunk.told(verdict, chunk.of_engine(WHY, MIB, stands=True))
    assert found.outcome is verdict.outcome
    assert "which the parties let stand" in str(found.note)
    assert "config.json is not there" in str(found.note)
