"""``cat <model>/config.json``: what decides how many bytes of KV cache a token takes.

Seen: Hugging Face transformers 4.x and 5.x (``torch_dtype`` became ``dtype``); multimodal models keep the language model under
``text_config``. A key that makes layers unlike one another (sliding window, linear attention, shared KV, sparse index) is
reported by name: such a model has no one number of bytes a token.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from checks.lexing import entry, json_document
from checks.probe import UnreadableOutput

COMMAND = "model-config"

_COUNT = (int, type(None))

#: Keys whose mere presence with a value says that layers differ or hold something else than keys and values.
_UNLIKE = (
    "attention_chunk_size", "attn_layer_period", "attn_type_list", "block_configs", "compress_ratios",
    "cross_attention_layers", "full_attention_interval", "hybrid_override_pattern", "index_topk", "layers_block_type",
    "linear_num_key_heads", "mamba_d_state", "num_kv_shared_layers", "sliding_window_pattern", "ssm_cfg", "state_size",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """Shape of the attention. None: the file does not say. ``unlike`` names the keys that make layers differ.

    ``latent`` and ``rope`` are the ranks of multi-head latent attention; ``kv_scheme`` says that the checkpoint brings its
    own quantisation of the KV cache, which `auto` would take.
    """

    model_type: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int | None
    head_dim: int | None
    latent: int | None
    rope: int | None
    dtype: str | None
    kv_scheme: bool
    unlike: tuple[str, ...]


def parse(text: str) -> ModelConfig:
    """Read the one document, or raise UnreadableOutput."""
    outer = json_document(text)
    table = entry(outer, "text_config", dict) if isinstance(outer, dict) and "text_config" in outer else outer
    kv_heads = _maybe(table, "num_key_value_heads", (int, list, type(None)))
    return ModelConfig(
        model_type=entry(table, "model_type", str),
        layers=_positive(table, "num_hidden_layers"),
        hidden=_positive(table, "hidden_size"),
        heads=_positive(table, "num_attention_heads"),
        kv_heads=kv_heads if isinstance(kv_heads, int) else None,
        head_dim=_maybe(table, "head_dim", _COUNT),
        latent=_maybe(table, "kv_lora_rank", _COUNT),
        rope=_maybe(table, "qk_rope_head_dim", _COUNT),
        dtype=_dtype(table) or _dtype(outer),
        kv_scheme=_kv_scheme(table) or _kv_scheme(outer),
        unlike=_unlike(table, isinstance(kv_heads, list)),
    )


def _positive(table: Any, key: str) -> int:
    value: int = entry(table, key, int)
    if value < 1:
        raise UnreadableOutput(f"{key!r} is {value}, wanted at least 1")
    return value


def _maybe(table: Any, key: str, kinds: tuple[type, ...]) -> Any:
    return entry(table, key, kinds) if key in table else None


def _dtype(table: Any) -> str | None:
    found: str | None = _maybe(table, "dtype", (str, type(None))) or _maybe(table, "torch_dtype", (str, type(None)))
    return found


def _kv_scheme(table: Any) -> bool:
    quantised = _maybe(table, "quantization_config", (dict, type(None))) or {}
    return any(quantised.get(key) for key in ("kv_cache_scheme", "kv_cache_quant_algo", "kv_cache_quant_config"))


def _unlike(table: Any, kv_heads_differ: bool) -> tuple[str, ...]:
    found = [key for key in _UNLIKE if table.get(key) not in (None, 0, [], {})]
    if kv_heads_differ:
        found.append("num_key_value_heads")
    if table.get("sliding_window") is not None and table.get("use_sliding_window") is not False:
        found.append("sliding_window")
    kinds = _maybe(table, "layer_types", (list, type(None))) or []
    if any(kind != "full_attention" for kind in kinds):
        found.append("layer_types")
    if table.get("is_encoder_decoder"):
        found.append("is_encoder_decoder")
    return tuple(sorted(found))
