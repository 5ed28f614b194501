"""The numbers of a model's attention, each either in `config.json` or derived by the rule SGLang itself uses."""

from __future__ import annotations

from typing import Literal

import msgspec

from console.models.config import ModelConfig, is_names, is_text
from console.models.families import Family, family
from console.values import Unknown, known


class Geometry(msgspec.Struct, frozen=True, kw_only=True):
    """What the KV cache is made of. `full` + `sliding` + `recurrent` = all layers; only the first two hold KV.
    `state`: SGLang keeps a pool of recurrent states beside it.

    GQA: heads and widths per layer. MLA: `latent` elements per layer, replicated on every tensor-parallel rank.
    """

    kind: Literal["gqa", "mla", "swa"]
    full: int
    sliding: int = 0
    recurrent: int = 0
    heads: int = 0
    kv_heads: int = 0
    head_dim: int = 0
    v_head_dim: int = 0
    swa_kv_heads: int = 0
    swa_head_dim: int = 0
    swa_v_head_dim: int = 0
    latent: int = 0
    rope: int = 0
    index_head_dim: int = 0
    derived: tuple[str, ...] = ()
    checked: bool = True
    state: bool = False

    @property
    def layers(self) -> int:
        return self.full + self.sliding + self.recurrent


def geometry(config: ModelConfig) -> Geometry | Unknown:
    """The attention of a model; Unknown when a number that the formula needs is not in the file."""
    kind = family(config)
    blocks = _nemotron(config)
    layers = blocks[0] if blocks else config.count("num_hidden_layers", "n_layer", "num_layers")
    if not known(kind):
        return kind
    if not known(layers):
        return layers
    split = _layer_split(config, layers, kind)
    if not known(split):
        return split
    shape = _mla(config, split) if kind.attention == "mla" else _gqa(config, split)
    if known(shape) and kind.own_full:
        shape = _own_full(config, shape)
    if not known(shape):
        return shape
    return msgspec.structs.replace(shape, checked=kind.checked, state=kind.beside or kind.recurrent)


def _own_full(config: ModelConfig, shape: Geometry) -> Geometry | Unknown:
    """Gemma 4: `head_dim` and `num_key_value_heads` are the windowed layers', full ones have `global_` names. Source:
    SGLang 0.5.23 `hf_transformers/config.py::_apply_gemma4_attention_overrides`."""
    shared, width = config.count("num_kv_shared_layers"), config.count("global_head_dim")
    if known(shared) and shared:
        return Unknown(f"no checked formula for {shared} layers that share the KV cache of others")
    if not known(width):
        return width
    equal = config.find(lambda value: value is True, ("attention_k_eq_v",))
    heads = config.count("num_global_key_value_heads") if known(equal) else shape.kv_heads
    return msgspec.structs.replace(
        shape, head_dim=width, v_head_dim=width, kv_heads=heads if known(heads) else shape.kv_heads
    )


def _nemotron(config: ModelConfig) -> tuple[int, int, int] | None:
    """(layers, attention, Mamba) of a Nemotron-H, whose list of layers beats `num_hidden_layers`; None of another."""
    pattern = config.find(is_text, ("hybrid_override_pattern",))
    if known(pattern):
        return len(pattern.value), pattern.value.count("*"), pattern.value.count("M")
    blocks = config.find(is_names, ("layers_block_type",))
    if known(blocks):
        return len(blocks.value), blocks.value.count("attention"), blocks.value.count("mamba")
    return None


_RECURRENT = ("linear", "mamba", "recurrent", "conv")
_SIGNS = ("linear_attn_config", "hybrid_override_pattern", "mamba_d_state", "mamba_d_conv", "ssm_cfg")


def recurrent_layers(config: ModelConfig) -> int | Unknown:
    """Layers that keep a state instead of a KV cache; Unknown when there are some and the file does not count them."""
    types, layers = config.layer_types, config.count("num_hidden_layers", "n_layer", "num_layers")
    if blocks := _nemotron(config):
        return blocks[2]
    if known(types):
        return sum(any(word in name for word in _RECURRENT) for name in types)
    interval = config.count("full_attention_interval")
    if known(interval) and interval and known(layers):
        return layers - layers // interval
    sign = next((name for name in _SIGNS if known(config.find(lambda _: True, (name,)))), "")
    kind = family(config)
    if sign or (known(kind) and kind.recurrent):
        return Unknown(f"{sign or config.model_type} tells of recurrent layers, but not how many")
    return 0


def _layer_split(config: ModelConfig, layers: int, kind: Family) -> tuple[int, int, int] | Unknown:
    """(full attention, sliding window, recurrent) layers; a windowed layer without a pool of its own is a full one."""
    full, swa = config.count("full_attention_layers"), config.count("swa_layers")
    if known(full) and known(swa):
        return full, swa, 0
    if blocks := _nemotron(config):  # its MLP layers hold nothing, like recurrent ones
        return blocks[1], 0, blocks[0] - blocks[1]
    types = config.layer_types
    if known(types):
        if len(types) != layers:
            return Unknown(f"layer_types names {len(types)} layers, num_hidden_layers {layers}")
        slides = sum("sliding" in name or "chunked" in name for name in types) if kind.sliding else 0
        recurs = recurrent_layers(config)
        return (layers - slides - recurs, slides, recurs) if known(recurs) else recurs
    if kind.full_every:
        return layers // kind.full_every, layers - layers // kind.full_every, 0
    recurs = recurrent_layers(config)
    if kind.recurrent and known(recurs):
        return layers - recurs, 0, recurs
    if kind.recurrent or kind.sliding:
        return Unknown(f"{types.reason}: which layers hold a KV cache is not said")
    return layers, 0, 0


def _mla(config: ModelConfig, split: tuple[int, int, int]) -> Geometry | Unknown:
    latent, rope = config.count("kv_lora_rank"), config.count("qk_rope_head_dim")
    heads = config.count("num_attention_heads")
    if not known(latent):
        return latent
    if not known(rope):
        return rope
    if not known(heads):
        return heads
    index = config.count("index_head_dim")
    return Geometry(
        kind="mla",
        full=sum(split),
        heads=heads,
        latent=latent,
        rope=rope,
        index_head_dim=index if known(index) else 0,
    )


def _gqa(config: ModelConfig, split: tuple[int, int, int]) -> Geometry | Unknown:
    derived: list[str] = []
    heads = config.count("num_attention_heads")
    if not known(heads):
        return heads
    kv_heads = config.count("num_key_value_heads")
    if not known(kv_heads):
        kv_heads = heads
        derived.append("num_key_value_heads absent: as many as num_attention_heads")
    head_dim = config.count("head_dim")
    if not known(head_dim):
        hidden = config.count("hidden_size")
        if not known(hidden):
            return hidden
        if heads == 0:
            return Unknown("num_attention_heads is 0 and head_dim absent")
        head_dim = hidden // heads
        derived.append("head_dim absent: hidden_size / num_attention_heads")
    v_head_dim = config.count("v_head_dim")
    full, sliding, recurrent = split

    def own(name: str, default: int) -> int:
        value = config.count(name)
        return value if known(value) else default

    width = v_head_dim if known(v_head_dim) else head_dim
    return Geometry(
        kind="swa" if sliding else "gqa",
        full=full,
        sliding=sliding,
        recurrent=recurrent,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=head_dim,
        v_head_dim=width,
        swa_kv_heads=own("swa_num_key_value_heads", kv_heads),
        swa_head_dim=own("swa_head_dim", head_dim),
        swa_v_head_dim=own("swa_v_head_dim", width),
        derived=tuple(derived),
    )
