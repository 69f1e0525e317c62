"""Writes a small model of random weights that vLLM serves: ``python model.py FOLDER``, in vLLM's own environment.

Word number n of its vocabulary is ``wn``, so a text of n words has n tokens. Nothing is downloaded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

SPECIAL = ["<pad>", "<s>", "</s>", "<unk>"]
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "intermediate_size": 704,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 64, "vocab_size": 4096,
    "max_position_embeddings": 32768, "rms_norm_eps": 1e-5, "hidden_act": "silu", "rope_theta": 10000.0,
    "tie_word_embeddings": False, "attention_bias": False, "mlp_bias": False, "initializer_range": 0.02,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0, "torch_dtype": "float32",
}  # fmt: skip


def weights(config: dict[str, int], seed: int = 1) -> dict[str, torch.Tensor]:
    """Random weights, the same for the same seed."""
    source = torch.Generator().manual_seed(seed)
    hidden, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    shapes = {
        "self_attn.q_proj": (hidden, hidden), "self_attn.k_proj": (hidden, hidden), "self_attn.v_proj": (hidden, hidden),
        "self_attn.o_proj": (hidden, hidden), "mlp.gate_proj": (inner, hidden), "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
    }  # fmt: skip

    def drawn(rows: int, columns: int, spread: float) -> torch.Tensor:
        return torch.randn(rows, columns, generator=source) * spread

    found = {
        "model.embed_tokens.weight": drawn(vocabulary, hidden, 1.0),
        "model.norm.weight": torch.ones(hidden),
        "lm_head.weight": drawn(vocabulary, hidden, 0.05),
    }
    for layer in range(config["num_hidden_layers"]):
        for name, (rows, columns) in shapes.items():
            found[f"model.layers.{layer}.{name}.weight"] = drawn(rows, columns, columns**-0.5)
        for name in ("input_layernorm", "post_attention_layernorm"):
            found[f"model.layers.{layer}.{name}.weight"] = torch.ones(hidden)
    return found


def write(folder: Path) -> None:
    """Write config, weights and tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1), "utf-8")
    (folder / "generation_config.json").write_text('{"bos_token_id": 1, "eos_token_id": 2}', "utf-8")
    numbers = {name: value for name, value in CONFIG.items() if isinstance(value, int)}
    save_file(weights(numbers), folder / "model.safetensors", metadata={"format": "pt"})
    words = {word: place for place, word in enumerate(SPECIAL)}
    words |= {f"w{place}": place for place in range(len(SPECIAL), numbers["vocab_size"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>"
    )
    fast.save_pretrained(folder)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
