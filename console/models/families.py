"""The model families whose weights and KV cache this console can count.

A family says what `config.json` does not: extra parameters that its code always has. A model type that is not
listed is unknown: no formula is stretched over an architecture it was not checked against.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from console.models.config import ModelConfig
from console.values import Unknown, known

Attention = Literal["gqa", "mla"]


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """What one model type's code adds. `counted` is False where the parameters cannot be counted from the
    configuration, `checked` where not even the KV formula was compared with a published number. `sliding`: SGLang
    gives windowed layers a pool of their own; `full_every`: by its code every n-th layer is a full one.
    `beside`: every layer keeps a recurrent state beside its KV cache; `own_full`: full layers have heads of their own
    under names of their own."""

    attention: Attention = "gqa"
    qk_norm: bool = False
    qkv_bias: bool = False
    all_bias: bool = False
    sinks: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    sliding: bool = False
    recurrent: bool = False
    beside: bool = False
    own_full: bool = False
    full_every: int = 0
    counted: bool = True
    checked: bool = True


_PLAIN = Family()
_DEEPSEEK = Family(attention="mla", router_bias=True)

FAMILIES: dict[str, Family] = {
    "llama": _PLAIN,
    "mistral": _PLAIN,
    "mixtral": _PLAIN,
    "qwen2": Family(qkv_bias=True),
    "qwen2_moe": Family(qkv_bias=True, counted=False),
    "qwen3": Family(qk_norm=True),
    "qwen3_moe": Family(qk_norm=True),
    "gpt_oss": Family(qkv_bias=True, all_bias=True, sinks=True, router_bias=True, expert_bias=True, sliding=True),
    "deepseek_v2": Family(attention="mla"),
    "deepseek_v3": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "deepseek_v32": Family(attention="mla", router_bias=True, counted=False),
    "glm4_moe": Family(qkv_bias=True, qk_norm=True, router_bias=True, counted=False),
    "mimo_v2_flash": Family(sliding=True, counted=False),
    "llama4_text": Family(sliding=True, full_every=4, counted=False, checked=False),
    "glm4_moe_lite": Family(attention="mla", router_bias=True, counted=False, checked=False),
    "qwen3_next": Family(qk_norm=True, recurrent=True, counted=False),
    "qwen3_5_text": Family(qk_norm=True, recurrent=True, counted=False),
    "qwen3_5_moe_text": Family(qk_norm=True, recurrent=True, counted=False),
    "nemotron_h": Family(recurrent=True, counted=False, checked=False),
    "granitemoehybrid": Family(recurrent=True, counted=False, checked=False),
    "falcon_h1": Family(beside=True, counted=False, checked=False),
    "gemma4_text": Family(sliding=True, own_full=True, counted=False, checked=False),
    "qwen3_vl_text": Family(qk_norm=True),
    "qwen3_vl_moe_text": Family(qk_norm=True),
}
# Grouped-query attention in every layer, by their code in SGLang 0.5.23: the same KV cell for all of them. Windowed
# layers (Gemma 2 and 3, Cohere 2, EXAONE 4) get no pool of their own there: they are held like full ones.
_ALIKE = (
    "arcee", "cohere", "cohere2", "ernie4_5", "ernie4_5_moe", "exaone4", "gemma", "gemma2", "gemma3_text", "glm4",
    "granite", "granitemoe", "internlm2", "internlm3", "minimax_m2", "ministral3", "olmo2", "olmoe", "phi3", "phimoe",
    "qwen2_5_vl", "qwen2_5_vl_text", "qwen2_vl", "qwen2_vl_text", "seed_oss", "smollm3", "starcoder2",
)  # fmt: skip
FAMILIES |= dict.fromkeys(_ALIKE, Family(counted=False, checked=False))


def family(config: ModelConfig) -> Family | Unknown:
    """The family of the text model, or that there is no formula for it."""
    kind = config.model_type
    if not known(kind):
        return kind
    if kind not in FAMILIES:
        return Unknown(f"no checked formula for the model type {kind}")
    return FAMILIES[kind]
