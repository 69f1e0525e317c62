"""Bytes a token of models whose numbers are published, and every model that has no one number refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from checks.parsers.model_config import ModelConfig
from checks.serving.kv import Layout, NoOneNumber, layout, stored_tokens, working_set

CODER = ModelConfig(
    model_type="qwen3_moe", layers=62, hidden=6144, heads=96, kv_heads=8, head_dim=128, latent=None, rope=None,
    dtype="bfloat16", kv_scheme=False, unlike=(),
)  # fmt: skip
LLAMA = replace(CODER, model_type="llama", layers=32, hidden=4096, heads=32, kv_heads=8, head_dim=None)
DEEPSEEK = replace(
    CODER, model_type="deepseek_v3", layers=61, hidden=7168, heads=128, kv_heads=128, head_dim=None, latent=512, rope=64
)


@pytest.mark.parametrize(
    "config, dtype, ranks, rank_bytes, token_bytes",
    [
        (CODER, "auto", 8, 31744, 253952), (CODER, "auto", 4, 63488, 253952), (CODER, "fp8", 8, 15872, 126976),
        (CODER, "fp8_e4m3", 4, 31744, 126976), (CODER, "auto", 1, 253952, 253952),
        (CODER, "auto", 16, 31744, 507904),  # twice as many ranks as heads: each head is kept twice
        (LLAMA, "float16", 1, 131072, 131072), (replace(LLAMA, kv_heads=None), "auto", 1, 524288, 524288),
    ],
)  # fmt: skip
def test_grouped_attention(config: ModelConfig, dtype: str, ranks: int, rank_bytes: int, token_bytes: int) -> None:
    found = layout(config, dtype, ranks)
    assert (found.rank_bytes, found.token_bytes) == (rank_bytes, token_bytes)


@pytest.mark.parametrize("copies, token_bytes", [(1, 70272), (8, 562176)])
def test_latent_attention_is_the_same_on_every_rank(copies: int, token_bytes: int) -> None:
    found = layout(DEEPSEEK, "auto", 8, latent_copies=copies)
    assert found == Layout(61 * 576 * 2, copies)
    assert found.token_bytes == token_bytes


@pytest.mark.parametrize(
    "config, dtype, ranks, copies, said",
    [
        (replace(CODER, unlike=("sliding_window",)), "auto", 8, None, "not alike (sliding_window)"),
        (replace(CODER, unlike=("layer_types", "mamba_d_state")), "auto", 8, None, "layer_types, mamba_d_state"),
        (replace(CODER, model_type="gpt_oss"), "auto", 8, None, "'gpt_oss' keeps its KV is not known"),
        (replace(CODER, kv_scheme=True), "auto", 8, None, "name the type"),
        (replace(CODER, dtype=None), "auto", 8, None, "names no type"),
        (CODER, "fp8_ds_mla", 8, None, "'fp8_ds_mla' is not known"),
        (CODER, "auto", 0, None, "wanted at least 1"),
        (CODER, "auto", 3, None, "cannot be spread over 3"),
        (CODER, "auto", 12, None, "cannot be spread over 12"),
        (replace(CODER, kv_heads=0), "auto", 8, None, "cannot be spread"),
        (replace(LLAMA, hidden=4097), "auto", 1, None, "does not divide"),
        (DEEPSEEK, "auto", 8, None, "declare on how many"),
        (DEEPSEEK, "auto", 8, 9, "declare on how many"),
        (DEEPSEEK, "auto", 8, 0, "declare on how many"),
        (replace(DEEPSEEK, rope=None), "auto", 8, 1, "latent attention of model type"),
        (replace(DEEPSEEK, latent=None), "auto", 8, 1, "latent attention of model type"),
        (replace(DEEPSEEK, model_type="minicpm3"), "auto", 8, 1, "'minicpm3'"),
    ],
)
def test_a_model_without_one_number_is_refused(
    config: ModelConfig, dtype: str, ranks: int, copies: int | None, said: str
) -> None:
    with pytest.raises(NoOneNumber) as refusal:
        layout(config, dtype, ranks, copies)
    assert said in str(refusal.value)


def test_a_checkpoint_with_its_own_scheme_is_right_once_the_type_is_named() -> None:
    assert layout(replace(CODER, kv_scheme=True), "fp8", 8).token_bytes == 126976


@pytest.mark.parametrize("tokens, kept", [(0, 0), (255, 0), (256, 256), (511, 256), (32768, 32768), (32769, 32768)])
def test_only_whole_chunks_are_kept(tokens: int, kept: int) -> None:
    assert stored_tokens(tokens, 256) == kept


def test_the_working_set_of_the_reference_fits_its_disk_two_hundred_and_forty_times() -> None:
    kv = layout(CODER, "auto", 8)
    one = working_set(1, 32768, 256, kv)
    assert one == 32768 * 253952
    assert 2 * 10**12 // one == 240
    assert working_set(1, 256, 256, kv, chunk_header=28) == 8 * (8126464 + 28) == 65011936
    with pytest.raises(ValueError, match="chunks of 0"):
        stored_tokens(1, 0)
    with pytest.raises(ValueError, match="found -1"):
        stored_tokens(-1, 256)
