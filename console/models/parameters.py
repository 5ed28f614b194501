"""Parameters of a model counted from `config.json`, by the way they are placed on GPUs.

Used before anything is downloaded; the sizes in the file headers replace it as soon as they are there. Sources:
the families' published parameter counts (vectors `memory_fit.json`), to the last parameter.
"""

from __future__ import annotations

import msgspec

from console.models.config import ModelConfig
from console.models.families import Family, family
from console.models.geometry import Geometry, geometry
from console.values import Unknown, known


class Parameters(msgspec.Struct, frozen=True, kw_only=True):
    """Counts. Per layer: `attention` and `shared` are divided by tensor parallelism, `replicated` (fused low-rank
    projections, router gates, norms) lie on every rank, `dense` and `experts` are the two kinds of MLP, `small`
    the part of `replicated` that is never quantised. `dense_layers` come first."""

    layers: int
    dense_layers: int
    embed: int
    head: int
    final_norm: int
    attention: int
    replicated: int
    dense: int
    dense_bias: int = 0
    experts: int = 0
    expert_bias: int = 0
    shared: int = 0
    gate: int = 0
    small: int = 0

    @property
    def moe_layers(self) -> int:
        return self.layers - self.dense_layers

    @property
    def total(self) -> int:
        every = self.layers * (self.attention + self.replicated + self.small)
        moe = self.moe_layers * (self.experts + self.expert_bias + self.shared + self.gate)
        dense = self.dense_layers * (self.dense + self.dense_bias)
        return self.embed + self.head + self.final_norm + every + moe + dense


class _Sizes(msgspec.Struct, frozen=True):
    hidden: int
    vocab: int
    inner: int


def parameters(config: ModelConfig) -> Parameters | Unknown:
    """The counts, or why there is no formula."""
    kind, shape = family(config), geometry(config)
    if not known(kind):
        return kind
    if not kind.counted:
        return Unknown(f"no checked parameter count for the model type {config.model_type}")
    sizes = _sizes(config)
    if not known(sizes):
        return sizes
    if not known(shape):
        split = config.count("num_hidden_layers")
        if not kind.sliding or not known(split):
            return shape
        shape = geometry(ModelConfig({**config.data, "full_attention_layers": split, "swa_layers": 0}))
        if not known(shape):
            return shape
    attention, replicated = _mla(config, sizes) if shape.kind == "mla" else _gqa(kind, shape, sizes)
    return _with_mlp(config, kind, shape.layers, sizes, attention, replicated)


def _sizes(config: ModelConfig) -> _Sizes | Unknown:
    values = [config.count(name) for name in ("hidden_size", "vocab_size", "intermediate_size")]
    plain = [value for value in values if known(value)]
    if len(plain) == len(values):
        return _Sizes(*plain)
    return next(value for value in values if not known(value))


def _gqa(kind: Family, shape: Geometry, sizes: _Sizes) -> tuple[int, int]:
    """(divided, replicated small) parameters of one layer, both norms included."""
    out = shape.heads * shape.head_dim
    pairs = shape.kv_heads * (shape.head_dim + shape.v_head_dim)
    divided = sizes.hidden * (out + pairs) + shape.heads * shape.v_head_dim * sizes.hidden
    divided += (out + pairs) if kind.qkv_bias else 0
    divided += shape.heads if kind.sinks else 0
    small = 2 * sizes.hidden + (2 * shape.head_dim if kind.qk_norm else 0)
    small += sizes.hidden if kind.all_bias else 0
    return divided, small


def _mla(config: ModelConfig, sizes: _Sizes) -> tuple[int, int]:
    """(divided, replicated) parameters of one layer; q_a and kv_a are one fused projection, on every rank."""

    def count(name: str) -> int:
        value = config.count(name)
        return value if known(value) else 0

    heads, latent, q_rank = (count(name) for name in ("num_attention_heads", "kv_lora_rank", "q_lora_rank"))
    nope, rope, width = (count(name) for name in ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"))
    query = heads * (nope + rope)
    divided = (q_rank or sizes.hidden) * query + latent * heads * (nope + width) + heads * width * sizes.hidden
    fused = sizes.hidden * (q_rank + latent + rope)
    return divided, fused + q_rank + latent + 2 * sizes.hidden


def _with_mlp(
    config: ModelConfig, kind: Family, layers: int, sizes: _Sizes, attention: int, replicated: int
) -> Parameters:
    def count(*names: str) -> int:
        value = config.count(*names)
        return value if known(value) else 0

    experts = count("n_routed_experts", "num_experts", "num_local_experts")
    inner = count("moe_intermediate_size") or sizes.inner
    tied = config.at("tie_word_embeddings") is True
    mla = kind.attention == "mla"
    return Parameters(
        layers=layers,
        dense_layers=count("first_k_dense_replace") if experts else layers,
        embed=sizes.vocab * sizes.hidden,
        head=0 if tied else sizes.vocab * sizes.hidden,
        final_norm=sizes.hidden,
        attention=attention,
        replicated=replicated if mla else 0,
        small=0 if mla else replicated,
        dense=3 * sizes.hidden * sizes.inner,
        experts=experts * 3 * sizes.hidden * inner,
        expert_bias=experts * (2 * inner + sizes.hidden) if kind.expert_bias else 0,
        shared=count("n_shared_experts") * 3 * sizes.hidden * inner,
        gate=experts * sizes.hidden + (experts if kind.router_bias else 0),
    )
