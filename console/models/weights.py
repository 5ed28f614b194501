"""Weight bytes by placement, and what each GPU of a layout holds.

Two sources fill the same record: the tensor sizes in the file headers, or the counted parameters before anything
is downloaded. Placement as SGLang 0.5.23 loads: tensor parallelism divides attention, MLPs, embedding and head;
low-rank projections, router gates, norms and the vision tower lie on every rank; expert parallelism holds the
same bytes as tensor parallelism; attention data parallelism divides the experts alone, and repeats the rest per
data-parallel rank; pipeline stages get `layers // pp`, the remainder goes to the last ones.
"""

from __future__ import annotations

import re

import msgspec

from console.models.config import ModelConfig, Quantization
from console.models.parameters import Parameters, parameters
from console.values import Unknown, format_gib, known


class LayerBytes(msgspec.Struct, frozen=True):
    """Bytes of one layer: attention, dense and shared MLPs are divided by the attention ranks, experts by all
    ranks of the stage, the rest lies on every rank."""

    attention: float = 0.0
    mlp: float = 0.0
    replicated: float = 0.0
    experts: float = 0.0

    @property
    def total(self) -> float:
        return self.attention + self.mlp + self.replicated + self.experts


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """A model's weights. `ratio` is the uncertainty of every number here before the first load (0.02 = ± 2 %);
    `resident` scales file bytes to loaded bytes where a format is laid out anew;
    `tables`: what the code computes itself and keeps on every GPU; `note` is a caveat."""

    embed: float
    head: float
    vision: float
    layers: tuple[LayerBytes, ...]
    source: str
    ratio: float
    resident: float = 1.0
    tables: float = 0.0
    note: str = ""

    @property
    def total_bytes(self) -> float:
        return self.embed + self.head + self.vision + sum(row.total for row in self.layers)


class Layout(msgspec.Struct, frozen=True, kw_only=True):
    """Ranks: `tp` is the world of one pipeline stage, `dp` the attention data-parallel ranks inside it."""

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1

    @property
    def gpus(self) -> int:
        return self.tp * self.pp

    @property
    def attention_tp(self) -> int:
        return max(1, self.tp // self.dp)


class TensorGroup(msgspec.Struct, frozen=True):
    """One line of the header reader's answer: tensors whose names differ only in an expert's number."""

    name: str
    bytes: int
    tensors: int = 1


def pp_split(layers: int, pp: int) -> tuple[int, ...]:
    """Layers of each stage; the remainder goes to the last stages (SGLang 0.5.23 `get_pp_indices`)."""
    base, rest = divmod(layers, pp)
    return tuple(base + (stage >= pp - rest) for stage in range(pp))


def stage_bytes(weights: Weights, layout: Layout) -> tuple[float, ...]:
    """Resident weight bytes of one GPU of each pipeline stage."""
    ranks = layout.attention_tp
    result, first = [], 0
    for stage, count in enumerate(pp_split(len(weights.layers), layout.pp)):
        part = weights.layers[first : first + count]
        first += count
        held = sum((row.attention + row.mlp) / ranks + row.experts / layout.tp + row.replicated for row in part)
        if stage == 0:
            held += weights.embed / ranks + weights.vision
        if stage == layout.pp - 1:
            held += weights.head / ranks
        result.append(held * weights.resident + weights.tables)
    return tuple(result)


# --- from the files ---------------------------------------------------------------------------------------------

_LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
_VISION = re.compile(r"^(?:model\.)?(?:vision|visual|mm_projector|multi_modal_projector|audio)")
_REPLICATED = re.compile(r"q_a_proj|kv_a_proj|layernorm|norm|\.gate\.|router|e_score_correction|indexer|rotary")
_ATTENTION = re.compile(r"\.(?:self_attn|attn|attention|linear_attn|mixer)\.")


def weights_from_headers(groups: tuple[TensorGroup, ...], config: ModelConfig) -> Weights | Unknown:
    """Placement of the tensors that the file headers list; layers past the configuration's (multi-token prediction)
    are not loaded and not counted. A drafter without embedding or head simply has none."""
    if not groups:
        return Unknown("no tensor in the file headers")
    layers = config.count("num_hidden_layers")
    found: dict[int, list[float]] = {}
    embed = head = vision = 0.0
    for group in groups:
        match = _LAYER.search(group.name)
        if _VISION.search(group.name):
            vision += group.bytes
        elif match:
            index = int(match.group(1))
            if known(layers) and index >= layers:
                continue
            found.setdefault(index, [0.0, 0.0, 0.0, 0.0])[_place(group.name)] += group.bytes
        elif "embed" in group.name or ".wte" in group.name:
            embed += group.bytes
        else:
            head += group.bytes
    rows = tuple(LayerBytes(*found.get(index, ())) for index in range(max(found, default=-1) + 1))
    return Weights(
        embed=embed, head=head, vision=vision, layers=rows, source="file headers", ratio=0.005,
        tables=position_table(config),
    )  # fmt: skip


def _place(name: str) -> int:
    """The field of `LayerBytes`: 0 attention, 1 MLP, 2 on every rank, 3 experts."""
    if ".experts." in name:
        return 3
    if "shared_expert" in name:
        return 1
    if _REPLICATED.search(name):
        return 2
    return 0 if _ATTENTION.search(name) else 1


# --- from config.json -------------------------------------------------------------------------------------------


class _Widths(msgspec.Struct, frozen=True):
    """Bytes of one stored element."""

    base: float
    linear: float
    experts: float


def weights_from_config(config: ModelConfig, vision_bytes: float = 0.0) -> Weights | Unknown:
    """Bytes counted from the configuration: for repositories that are not on the box yet."""
    counts, widths = parameters(config), _widths(config)
    if not known(counts):
        return counts
    if not known(widths):
        return widths
    projection = _fusion(config) * widths.base
    method = config.quantization
    mxfp4 = isinstance(method, Quantization) and method.method == "mxfp4"
    own = 0 if _is_block_drafter(config) else 1  # a block drafter takes the target's embedding and head
    return Weights(
        embed=own * counts.embed * widths.base,
        head=(own * counts.head + counts.final_norm) * widths.base,
        vision=vision_bytes + projection,
        layers=tuple(_layer(counts, widths, index) for index in range(counts.layers)),
        source="counted from config.json",
        ratio=0.02 if mxfp4 else 0.01,
        resident=1.11 if mxfp4 else 1.0,
        tables=position_table(config),
    )


def position_table(config: ModelConfig) -> int:
    """Bytes of the rotary table: cosine and sine of each position in 32 bits, one for all layers, on every GPU
    (`RotaryEmbedding._compute_cos_sin_cache`). A drafter has its own. 0 where the file does not give its size."""
    positions, width = config.count("max_position_embeddings"), config.count("qk_rope_head_dim", "head_dim")
    if not known(width):
        hidden, heads = config.count("hidden_size"), config.count("num_attention_heads")
        width = hidden // heads if known(hidden) and known(heads) and heads else 0
    partial = config.find(_is_share, ("partial_rotary_factor",))
    share = float(partial.value) if known(partial) else 1.0
    return 4 * positions * int(width * share) if known(positions) else 0


def _is_share(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _is_block_drafter(config: ModelConfig) -> bool:
    names = config.architectures
    return known(names) and names[0].startswith("DFlash")


def _fusion(config: ModelConfig) -> int:
    """Parameters of a block drafter's `fc`, which takes the hidden states of the captured layers; on every rank."""
    ids, hidden = config.target_layer_ids, config.count("hidden_size")
    return len(ids) * hidden * hidden if known(ids) and known(hidden) else 0


def weights_from_listing(config: ModelConfig, total_bytes: int | Unknown) -> Weights | Unknown:
    """What a repository that is not on the box holds: counted from its configuration, else its files' bytes spread
    evenly over the layers (± 10 %: what every rank repeats is not told apart). What the files have beyond the count
    is the vision tower of a model that has one."""
    counted = weights_from_config(config)
    if not known(total_bytes):
        return counted
    if not known(counted):
        layers = config.count("num_hidden_layers")
        if not known(layers) or not layers or not total_bytes:
            return counted
        rows = (LayerBytes(attention=total_bytes / layers),) * layers
        why = f"the weights are the files' bytes spread over the layers: {counted.reason}"
        return Weights(embed=0, head=0, vision=0, layers=rows, source="sizes of its files", ratio=0.1, note=why)
    if config.at("vision_config") is not None:
        return msgspec.structs.replace(counted, vision=max(0.0, total_bytes - counted.total_bytes))
    if total_bytes < 0.9 * counted.total_bytes:
        sizes = f"{format_gib(counted.total_bytes)} in weights, its files have {format_gib(total_bytes)}"
        return msgspec.structs.replace(counted, note=f"config.json describes {sizes}")
    return counted


def _layer(counts: Parameters, widths: _Widths, index: int) -> LayerBytes:
    replicated = counts.replicated * widths.linear + counts.small * widths.base
    attention = counts.attention * widths.linear
    if index < counts.dense_layers:
        return LayerBytes(attention, counts.dense * widths.linear + counts.dense_bias * widths.base, replicated)
    experts = counts.experts * widths.experts + counts.expert_bias * widths.base
    return LayerBytes(attention, counts.shared * widths.linear, replicated + counts.gate * widths.base, experts)


def _widths(config: ModelConfig) -> _Widths | Unknown:
    dtype = config.dtype
    base = 4.0 if known(dtype) and dtype == "float32" else 2.0
    method = config.quantization
    if method is None:
        return _Widths(base, base, base)
    if not known(method):
        return method
    if method.method == "mxfp4":
        return _Widths(base, base, 0.5 + 1 / 32)
    if method.method == "fp8":
        scale = 4 / (method.block[0] * method.block[1]) if known(method.block) and len(method.block) == 2 else 0.0
        return _Widths(base, 1.0 + scale, 1.0 + scale)
    if not known(method.bits):
        return method.bits
    scale = 2 / method.group_size if known(method.group_size) and method.group_size else 0.0
    packed = method.bits / 8 + scale
    experts_only = method.method == "compressed-tensors" and known(config.count(*_EXPERT_NAMES))
    return _Widths(base, base if experts_only else packed, packed)


_EXPERT_NAMES = ("n_routed_experts", "num_experts", "num_local_experts")
