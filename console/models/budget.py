"""SGLang's memory arithmetic, version 0.5.23.

Sources: `arg_groups/memory_hook.py::handle_gpu_memory_settings` (default fraction),
`kv_cache_configurator._profile_available_bytes` (budget), `distributed/bootstrap.py` (balance). MiB in the
first, GiB in the second, as there.
"""

from __future__ import annotations

import math

import msgspec

VERSION = "0.5.23"
MM_CACHE_BYTES = 100 << 20  # SGLANG_VLM_CACHE_SIZE_MB
BALANCE = 0.9

_TIERS = (  # below MiB, chunked prefill, decode graph batch at tp < 4, at tp >= 4
    (20 * 1024, 2048, 8, 8),
    (35 * 1024, 4096, 48, 160),
    (60 * 1024, 4096, 32, 160),
    (160 * 1024, 8192, 256, 512),
    (math.inf, 16384, 512, 512),
)
_BUCKETS = ((4, 32, 4), (48, 256, 16), (288, 512, 32), (576, 1024, 64), (1280, 4096, 256), (4608, 1 << 20, 512))


class Vision(msgspec.Struct, frozen=True):
    """A vision tower as the formula sees it."""

    layers: int = 24
    hidden: int = 1024


class StaticPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What SGLang would choose by itself. `fraction` is not rounded; `reserved_mib` is what it keeps free."""

    fraction: float
    chunked_prefill: int
    decode_max_batch: int
    prefill_buckets: int
    reserved_mib: float


class Serving(msgspec.Struct, frozen=True, kw_only=True):
    """The flags that the default fraction depends on; None: not given."""

    tp: int = 1
    pp: int = 1
    attention_dp: int = 1
    mla: bool = False
    vision: Vision | None = None
    prefill_graph: bool = True
    decode_graph: bool = True
    deepep: bool = False
    chunked_prefill: int | None = None
    max_running: int | None = None
    decode_max_batch: int | None = None


def static_plan(gpu_mib: float, serving: Serving) -> StaticPlan:
    """The default `--mem-fraction-static` for the smallest GPU's total memory."""
    _, chunked, small, large = next(tier for tier in _TIERS if gpu_mib < tier[0])
    chunked = serving.chunked_prefill or chunked
    batch = serving.decode_max_batch
    if batch is None:
        batch = small if serving.tp < 4 else large
        batch = min(batch, serving.max_running) if serving.max_running else batch
    captured = min(chunked, 8192) if serving.mla else chunked
    buckets = prefill_buckets(captured)
    reserved = 512 + 1.5 * max(chunked, 2048) + serving.tp * serving.pp * 128
    reserved += _graph_reserve(serving, batch, buckets)
    if gpu_mib > 60 * 1024:
        reserved = max(reserved, 10240)
    if serving.deepep and serving.decode_graph:
        reserved += 2048
    fraction = round((gpu_mib - reserved) / gpu_mib, 3) * _vision_factor(serving.vision)
    return StaticPlan(
        fraction=fraction,
        chunked_prefill=chunked,
        decode_max_batch=batch,
        prefill_buckets=buckets,
        reserved_mib=reserved,
    )


def _graph_reserve(serving: Serving, batch: int, buckets: int) -> float:
    reserved = 2.0 * batch if serving.decode_graph else 0.0
    if serving.attention_dp > 1:
        reserved += (3 + (1.5 if batch > 300 else 0)) * batch * serving.attention_dp
    if serving.prefill_graph:
        reserved += 1536 if serving.mla else 8 * buckets
        reserved += 1024 if serving.deepep else 0
    return reserved


def _vision_factor(vision: Vision | None) -> float:
    if vision is None:
        return 1.0
    complexity = vision.layers * vision.hidden**2 / (24 * 1024**2)
    return 0.95 * max(0.8, min(1.05, 1 - 0.1 * (complexity - 1)))


def prefill_buckets(limit: int) -> int:
    """How many sizes the prefill graph is captured for."""
    return sum(len(range(start, min(stop, limit) + 1, step)) for start, stop, step in _BUCKETS)


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """What is left for the KV cache. `min_fraction` is SGLang's own minimum, `smallest_working` the smallest
    fraction of three decimals that leaves something (SGLang's ignores the multimodal cache)."""

    kv_bytes: float
    min_fraction: float
    printed: float
    smallest_working: float

    @property
    def starts(self) -> bool:
        return self.kv_bytes > 0


def kv_budget(pre_bytes: float, after_weights_bytes: float, fraction: float, mm_bytes: int = 0) -> Budget:
    """`pre_bytes`: free before the weights, the least over the ranks; `after_weights_bytes`: free behind them."""
    minimum = 1 - after_weights_bytes / pre_bytes
    needed = 1 - (after_weights_bytes - mm_bytes) / pre_bytes
    return Budget(
        kv_bytes=after_weights_bytes - pre_bytes * (1 - fraction) - mm_bytes,
        min_fraction=minimum,
        printed=_ceil3(minimum),
        smallest_working=_above3(needed),
    )


def _ceil3(value: float) -> float:
    return math.ceil(round(value * 1000, 9)) / 1000


def _above3(value: float) -> float:
    """The next multiple of 0.001 strictly above: at equality nothing is left for the cache."""
    return (math.floor(round(value * 1000, 9)) + 1) / 1000


def max_tokens(kv_bytes: float, bytes_per_token: float, page_size: int = 1) -> int:
    """Tokens of the pool, whole pages."""
    if kv_bytes <= 0 or bytes_per_token <= 0:
        return 0
    return int(kv_bytes // bytes_per_token) // page_size * page_size


def imbalance(free: tuple[float, ...]) -> int | None:
    """The rank that makes SGLang refuse unbalanced GPUs (min < 0.9 × own free, strict), or None."""
    lowest = min(free)
    if all(lowest >= BALANCE * own for own in free):
        return None
    return free.index(lowest)
