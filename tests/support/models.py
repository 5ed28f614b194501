"""A complete model directory with weights of the right lengths, small enough for a test."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

CONFIG: dict[str, Any] = {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "vocab_size": 512,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 32,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}


def tensors_of(config: dict[str, Any]) -> dict[str, list[int]]:
    """Names and shapes of a dense model's tensors, norms included."""
    hidden, inner, vocab = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    heads, kv = config["num_attention_heads"] * config["head_dim"], config["num_key_value_heads"] * config["head_dim"]
    tensors = {"model.embed_tokens.weight": [vocab, hidden], "lm_head.weight": [vocab, hidden]}
    tensors["model.norm.weight"] = [hidden]
    for layer in range(config["num_hidden_layers"]):
        name = f"model.layers.{layer}."
        tensors |= {
            f"{name}self_attn.q_proj.weight": [heads, hidden],
            f"{name}self_attn.k_proj.weight": [kv, hidden],
            f"{name}self_attn.v_proj.weight": [kv, hidden],
            f"{name}self_attn.o_proj.weight": [hidden, heads],
            f"{name}self_attn.q_norm.weight": [config["head_dim"]],
            f"{name}self_attn.k_norm.weight": [config["head_dim"]],
            f"{name}mlp.gate_proj.weight": [inner, hidden],
            f"{name}mlp.up_proj.weight": [inner, hidden],
            f"{name}mlp.down_proj.weight": [hidden, inner],
            f"{name}input_layernorm.weight": [hidden],
            f"{name}post_attention_layernorm.weight": [hidden],
        }
    return tensors


def write_safetensors(path: Path, tensors: dict[str, list[int]]) -> int:
    """A file of 16-bit zeros; answers the bytes of its tensors."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in tensors.items():
        size = 2
        for side in shape:
            size *= side
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + end)
    return end


def model_directory(folder: Path, **changes: Any) -> Path:
    """Config, tokenizer and one weight file."""
    folder.mkdir(parents=True)
    config = CONFIG | changes
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    write_safetensors(folder / "model.safetensors", tensors_of(config))
    return folder
