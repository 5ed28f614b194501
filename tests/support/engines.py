"""Recorded SGLang versions as the console's records, and the configurations the plan tests share."""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Any

from console.models.config import ModelConfig
from console.models.engine import Engine, parse_engine

CAPTURES = Path(__file__).parents[1] / "captures" / "introspection"
VERSIONS = ("0.5.11", "0.5.23")


def _read(name: str) -> Any:
    return json.loads(gzip.decompress((CAPTURES / name).read_bytes()))


@functools.cache
def recorded_answer(version: str) -> dict[str, Any]:
    """The recorded introspection answer, with the architectures read from the same version's sources."""
    answer: dict[str, Any] = _read(f"sglang-{version}.json.gz") | _read("architectures.json.gz")[version]
    return answer


def recorded_engine(version: str, **changes: Any) -> Engine:
    return parse_engine(recorded_answer(version) | changes)


def vector_config(file: str, vector: str) -> ModelConfig:
    """The configuration of one test vector."""
    vectors = json.loads((CAPTURES.parents[1] / "vectors" / file).read_text())
    return ModelConfig(next(v["input"]["config"] for v in vectors if v["id"] == vector))


def kimi_config() -> ModelConfig:
    return vector_config("memory_fit.json", "w-kimi-k26")


def kimi_drafter(**changes: Any) -> ModelConfig:
    """A DFlash drafter of the right shape for Kimi-K2.6."""
    return ModelConfig(
        {
            "architectures": ["DFlashDraftModel"],
            "model_type": "qwen3",
            "vocab_size": 163840,
            "hidden_size": 7168,
            "intermediate_size": 18432,
            "num_hidden_layers": 5,
            "num_attention_heads": 64,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "num_target_layers": 61,
            "dflash_config": {"block_size": 8, "target_layer_ids": [1, 15, 30, 45, 59]},
            **changes,
        }
    )
