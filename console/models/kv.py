"""KV bytes per token per GPU, as SGLang 0.5.23 allocates them.

MLA is not divided by tensor parallelism; GQA heads are divided down to one per GPU; a sliding-window model pays
the full cell plus `swa_full_tokens_ratio` of the sliding one. Source: SGLang 0.5.23 `pool_configurator`,
`memory_pool`, published logs in the vectors.
"""

from __future__ import annotations

import math

import msgspec

from console.models.geometry import Geometry
from console.values import Unknown

GIB = 1 << 30
SWA_RATIO = 0.8  # SGLang's default of --swa-full-tokens-ratio

_DTYPE_BYTES = {
    "bf16": 2.0,
    "bfloat16": 2.0,
    "fp16": 2.0,
    "float16": 2.0,
    "half": 2.0,
    "float32": 4.0,
    "fp8": 1.0,
    "fp8_e4m3": 1.0,
    "fp8_e5m2": 1.0,
    "mxfp8": 1.0 + 1 / 32,
    "fp4_e2m1": 0.5 + 1 / 16,
    "nvfp4": 0.5 + 1 / 16,
    "fp4_mx_block16": 0.5 + 1 / 16,
}


class KvCell(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that one token costs on one GPU. `k`, `v` of full layers, `swa_k`, `swa_v` of sliding ones."""

    k: float
    v: float
    swa_k: float = 0.0
    swa_v: float = 0.0
    ratio: float = 0.0

    @property
    def bytes_per_token(self) -> int:
        return int(self.k + self.v + self.ratio * (self.swa_k + self.swa_v))


def dtype_bytes(name: str) -> float | Unknown:
    """Bytes of one element of the KV cache, scales included."""
    return _DTYPE_BYTES.get(name, Unknown(f"no size known for the KV dtype {name}"))


def kv_cell(
    shape: Geometry,
    *,
    tp: int,
    element: float,
    layers: int | None = None,
    dsa_fp8: bool = False,
    indexer: bool = False,
    swa_ratio: float = SWA_RATIO,
) -> KvCell:
    """The cell for `tp` attention ranks; `layers` restricts it to one pipeline stage's share of the layers.

    `dsa_fp8`: the fp8 row of sparse MLA (512 fp8 + 4 fp32 scales + 64 bf16). `indexer`: its index keys
    (128 fp8 + one fp32 scale per 128).
    """
    share = 1.0 if layers is None else layers / max(1, shape.full + shape.sliding + shape.recurrent)
    full, sliding = shape.full * share, shape.sliding * share
    if shape.kind == "mla":
        row = (shape.latent + 4 * (shape.latent // 128) + 2 * shape.rope) if dsa_fp8 else None
        latent = row if row is not None else (shape.latent + shape.rope) * element
        index = shape.index_head_dim + 4 * math.ceil(shape.index_head_dim / 128) if indexer else 0
        return KvCell(k=full * (latent + index), v=0.0)
    heads = max(1, shape.kv_heads // tp)
    swa_heads = max(1, shape.swa_kv_heads // tp)
    return KvCell(
        k=full * heads * shape.head_dim * element,
        v=full * heads * shape.v_head_dim * element,
        swa_k=sliding * swa_heads * shape.swa_head_dim * element,
        swa_v=sliding * swa_heads * shape.swa_v_head_dim * element,
        ratio=swa_ratio if sliding else 0.0,
    )


def draft_cell(target: KvCell, target_layers: int, draft: KvCell | Unknown, draft_layers: int) -> int:
    """Bytes a drafter adds per token; with an unknown shape the target's cell times the layers' ratio."""
    if not isinstance(draft, Unknown):
        return draft.bytes_per_token
    whole = target.bytes_per_token * (target_layers + draft_layers) / max(1, target_layers)
    return math.ceil(whole) - target.bytes_per_token
