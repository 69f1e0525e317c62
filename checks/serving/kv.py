"""How many bytes of KV cache a token takes, from the model's config.json; a model that has no one number is refused.

``bytes = 2 x layers x KV heads x head size x bytes of the type`` for grouped-query attention, over all ranks; multi-head latent
attention keeps one vector of ``kv_lora_rank + qk_rope_head_dim`` a layer, the same on every rank.
"""

from __future__ import annotations

from dataclasses import dataclass

from checks.parsers.model_config import ModelConfig

#: Bytes of one element by what `--kv-cache-dtype` (vLLM, SGLang) or config.json call the type.
_TYPES = {
    "float32": 4, "float16": 2, "half": 2, "bfloat16": 2, "bf16": 2, "fp16": 2, "fp8": 1, "fp8_e4m3": 1, "fp8_e5m2": 1,
}  # fmt: skip

#: Model types whose layers all keep keys and values (or one latent vector) of every token. Others may be right and are not known.
_GROUPED = frozenset(
    {"glm4", "glm4_moe", "llama", "mistral", "mixtral", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe"}
)
_LATENT = frozenset({"deepseek_v2", "deepseek_v3", "kimi_k2"})


class NoOneNumber(ValueError):
    """The bytes of a token cannot be told from this config; the message says why."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Bytes that one token takes on one rank, and on how many ranks the store keeps a copy or share of it."""

    rank_bytes: int
    ranks: int

    @property
    def token_bytes(self) -> int:
        """Bytes of one token over all ranks that store."""
        return self.rank_bytes * self.ranks


def layout(config: ModelConfig, kv_dtype: str, tensor_parallel: int, latent_copies: int | None = None) -> Layout:
    """Bytes of a token. ``kv_dtype`` is what the engine was started with (``auto`` takes the model's own type).

    ``latent_copies``: on how many ranks the store keeps the latent vector, for models that have one (1 when only the first
    rank saves). Raises NoOneNumber.
    """
    if tensor_parallel < 1:
        raise NoOneNumber(f"tensor parallel size {tensor_parallel}, wanted at least 1")
    if config.unlike:
        raise NoOneNumber(f"layers are not alike ({', '.join(config.unlike)}): a token has no one number of bytes")
    size = _element(config, kv_dtype)
    if config.latent is not None or config.model_type in _LATENT:
        return _latent(config, size, tensor_parallel, latent_copies)
    return _grouped(config, size, tensor_parallel)


def _element(config: ModelConfig, kv_dtype: str) -> int:
    if kv_dtype == "auto" and config.kv_scheme:
        raise NoOneNumber("KV type auto and a checkpoint that brings its own: name the type in --kv-cache-dtype")
    name = config.dtype if kv_dtype == "auto" else kv_dtype
    if name is None:
        raise NoOneNumber("KV type auto, and config.json names no type of the model")
    if name not in _TYPES:
        raise NoOneNumber(f"KV type {name!r} is not known, wanted one of {', '.join(sorted(_TYPES))}")
    return _TYPES[name]


def _latent(config: ModelConfig, size: int, ranks: int, copies: int | None) -> Layout:
    if config.model_type not in _LATENT or config.latent is None or config.rope is None:
        raise NoOneNumber(f"latent attention of model type {config.model_type!r} is not known")
    if copies is None or not 1 <= copies <= ranks:
        raise NoOneNumber("every rank holds the same latent vector: declare on how many of them the store keeps it")
    return Layout(config.layers * (config.latent + config.rope) * size, copies)


def _grouped(config: ModelConfig, size: int, ranks: int) -> Layout:
    if config.model_type not in _GROUPED:
        known = ", ".join(sorted(_GROUPED | _LATENT))
        raise NoOneNumber(f"how model type {config.model_type!r} keeps its KV is not known, wanted one of {known}")
    kv_heads = config.heads if config.kv_heads is None else config.kv_heads
    head = config.head_dim
    if head is None:
        if config.hidden % config.heads:
            raise NoOneNumber(f"no head_dim, and {config.hidden} does not divide by {config.heads} heads")
        head = config.hidden // config.heads
    if kv_heads < 1 or head < 1 or (kv_heads % ranks and ranks % kv_heads):
        raise NoOneNumber(f"{kv_heads} KV heads cannot be spread over {ranks} ranks")
    # With more ranks than heads every head is kept on several of them.
    return Layout(2 * config.layers * max(1, kv_heads // ranks) * head * size, ranks)


def stored_tokens(tokens: int, chunk: int) -> int:
    """Tokens of a prompt that a store keeps: whole chunks only."""
    if tokens < 0 or chunk < 1:
        raise ValueError(f"found {tokens} tokens in chunks of {chunk}")
    return tokens // chunk * chunk


def working_set(prompts: int, tokens: int, chunk: int, kv: Layout, chunk_header: int = 0) -> int:
    """Bytes that the store writes for so many different prompts of one length; a header a chunk file and rank."""
    chunks = stored_tokens(tokens, chunk) // chunk
    return prompts * chunks * kv.ranks * (chunk * kv.rank_bytes + chunk_header)
