"""Does a recipe fit, per GPU: weights, drafter, KV cache, slack, and what others hold.

The arithmetic is SGLang 0.5.23's (`console.models.budget`); for another version the answer says so until the
memory that a load really took replaces the estimate.
"""

from __future__ import annotations

import msgspec

from console.models.budget import MM_CACHE_BYTES, VERSION, Budget, Serving, kv_budget, max_tokens, static_plan
from console.models.geometry import Geometry
from console.models.kv import GIB, SWA_RATIO, KvCell, draft_cell, kv_cell
from console.models.weights import Layout, Weights, pp_split, stage_bytes
from console.values import Unknown

# CUDA context and communication buffers of a rank, outside SGLang's fraction: 0.5 to 1 GiB were measured.
CONTEXT_BYTES = int(0.7 * GIB)
MEASURED = "measured on this box"
STATE_RATIO = 0.9  # SGLang's default of --mamba-full-memory-ratio


class GpuRoom(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU before the launch; `index` as NVML counts. `foreign_bytes`: of processes that the launch does not end."""

    uuid: str
    index: int
    total_bytes: int
    reserved_bytes: int
    foreign_bytes: int

    @property
    def free_bytes(self) -> int:
        return self.total_bytes - self.reserved_bytes - self.foreign_bytes


class Drafter(msgspec.Struct, frozen=True, kw_only=True):
    """A drafter's weights per GPU and, where its shape is known, its own KV geometry."""

    weights_bytes: float
    layers: int
    shape: Geometry | Unknown
    element: float
    source: str


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """What the same model and layout took on this box: resident bytes per GPU, of the target in each pipeline stage and
    of the drafter. None: not measured, or of another model by now."""

    weights_bytes: tuple[float, ...] | None = None
    draft_bytes: float | None = None


class FitRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the arithmetic needs. `fraction` None: SGLang's own default. `element`: bytes per KV element.

    `resolved`: that default as the box's own SGLang resolved it; None: by the formula. `state_ratio`: bytes of
    recurrent states per byte of KV cache, for a model that has both; None: the recipe gives their number instead."""

    weights: Weights
    shape: Geometry
    layout: Layout
    serving: Serving
    gpus: tuple[GpuRoom, ...]
    element: float
    fraction: float | None = None
    resolved: float | None = None
    page_size: int = 1
    multimodal: bool = False
    drafter: Drafter | None = None
    measured: Measured = Measured()
    max_total_tokens: int | None = None
    swa_ratio: float = SWA_RATIO
    state_ratio: float | None = STATE_RATIO
    dsa_fp8: bool = False
    version: str = VERSION


class GpuFit(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU's bar, bytes. `other_bytes` is what SGLang keeps for graphs, activations and recurrent states, and its
    context."""

    uuid: str
    index: int
    stage: int
    weights_bytes: int
    draft_bytes: int
    kv_bytes: int
    other_bytes: int
    reserved_bytes: int
    foreign_bytes: int
    total_bytes: int


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """The answer. `tokens` is per attention data-parallel rank; `kv_bytes` of the tightest stage, negative when
    SGLang would refuse; `plus_minus_bytes` per GPU; `caveats` are sentences."""

    gpus: tuple[GpuFit, ...]
    fraction: float
    default_fraction: float
    smallest_working: float
    kv_bytes: float
    tokens: int
    bytes_per_token: int
    plus_minus_bytes: int
    tightest_stage: int
    sources: tuple[tuple[str, str], ...]
    caveats: tuple[str, ...]
    state_bytes: int = 0


class _Stage(msgspec.Struct, frozen=True):
    index: int
    weights: float
    draft: float
    budget: Budget
    state: float
    cell: int
    tokens: int


def fit(request: FitRequest) -> Fit:
    """The fit on exactly `request.gpus`, in rank order: the ranks of a stage lie side by side."""
    smallest_mib = min(gpu.total_bytes for gpu in request.gpus) / (1 << 20)
    default = request.resolved or static_plan(smallest_mib, request.serving).fraction
    fraction = default if request.fraction is None else request.fraction
    pre = min(gpu.free_bytes for gpu in request.gpus) - CONTEXT_BYTES
    stages = _stages(request, pre, fraction)
    tokens = min(stage.tokens for stage in stages)
    if request.max_total_tokens:
        tokens = min(tokens, request.max_total_tokens)
    tightest = min(stages, key=lambda stage: (stage.budget.kv_bytes > 0, stage.tokens, stage.budget.kv_bytes))
    ratio = 0.0 if request.measured.weights_bytes else request.weights.ratio
    return Fit(
        gpus=tuple(_bar(request, stages, rank, pre, fraction) for rank in range(len(request.gpus))),
        fraction=fraction,
        default_fraction=default,
        smallest_working=max(stage.budget.smallest_working for stage in stages),
        kv_bytes=tightest.budget.kv_bytes - tightest.state,
        tokens=tokens,
        bytes_per_token=tightest.cell,
        plus_minus_bytes=int(ratio * tightest.weights + 0.3 * GIB),
        tightest_stage=tightest.index,
        sources=_sources(request),
        caveats=_caveats(request),
        state_bytes=round(tightest.state),
    )


def _stages(request: FitRequest, pre: float, fraction: float) -> tuple[_Stage, ...]:
    held = request.measured.weights_bytes or stage_bytes(request.weights, request.layout)
    mm = MM_CACHE_BYTES if request.multimodal else 0
    result = []
    for index, layers in enumerate(pp_split(request.shape.layers, request.layout.pp)):
        draft = (request.measured.draft_bytes or request.drafter.weights_bytes) if request.drafter else 0.0
        budget = kv_budget(pre, pre - held[index] - draft, fraction, mm)
        cell, state = _cell(request, layers), _state(request) * max(0.0, budget.kv_bytes)
        tokens = max_tokens(budget.kv_bytes - state, cell, request.page_size)
        result.append(_Stage(index, held[index], draft, budget, state, cell, tokens))
    return tuple(result)


def _state(request: FitRequest) -> float:
    """The recurrent states' share of what the weights leave (SGLang 0.5.11 and 0.5.23, `_handle_max_mamba_cache`)."""
    ratio = request.state_ratio if request.shape.state else 0.0
    return ratio / (1 + ratio) if ratio else 0.0


def _cell(request: FitRequest, layers: int) -> int:
    tp = request.layout.attention_tp
    target: KvCell = kv_cell(
        request.shape,
        tp=tp,
        element=request.element,
        layers=layers,
        swa_ratio=request.swa_ratio,
        dsa_fp8=request.dsa_fp8,
        indexer=request.shape.index_head_dim > 0,
    )
    if request.drafter is None:
        return target.bytes_per_token
    drafter = request.drafter
    own: KvCell | Unknown = (
        drafter.shape if isinstance(drafter.shape, Unknown) else kv_cell(drafter.shape, tp=tp, element=drafter.element)
    )
    return target.bytes_per_token + draft_cell(target, request.shape.layers, own, drafter.layers)


def _bar(request: FitRequest, stages: tuple[_Stage, ...], rank: int, pre: float, fraction: float) -> GpuFit:
    gpu = request.gpus[rank]
    stage = stages[rank % request.layout.gpus // request.layout.tp]
    kv = max(0.0, stage.budget.kv_bytes - stage.state)
    return GpuFit(
        uuid=gpu.uuid,
        index=gpu.index,
        stage=stage.index,
        weights_bytes=round(stage.weights),
        draft_bytes=round(stage.draft),
        kv_bytes=round(kv),
        other_bytes=round(pre * (1 - fraction) + stage.state) + CONTEXT_BYTES,
        reserved_bytes=gpu.reserved_bytes,
        foreign_bytes=gpu.foreign_bytes,
        total_bytes=gpu.total_bytes,
    )


def _sources(request: FitRequest) -> tuple[tuple[str, str], ...]:
    weights = MEASURED if request.measured.weights_bytes else request.weights.source
    pairs = [("weights", weights), ("kv", f"formula of SGLang {VERSION}"), ("fraction", _fraction_source(request))]
    if share := _state(request):
        pairs.append(("states", f"{share:.0%} of what the weights leave, as SGLang {VERSION} divides it"))
    if request.drafter:
        pairs.insert(1, ("drafter", MEASURED if request.measured.draft_bytes else request.drafter.source))
    return (*pairs, ("gpus", "NVML of this box"))


def _fraction_source(request: FitRequest) -> str:
    if request.fraction is not None:
        return "the recipe"
    return "default of the box's SGLang" if request.resolved else f"default of SGLang {VERSION}"


def _caveats(request: FitRequest) -> tuple[str, ...]:
    said = []
    if request.version != VERSION:
        said.append(f"the formulas are SGLang {VERSION}'s, the box has {request.version}")
    if request.weights.note and not request.measured.weights_bytes:
        said.append(request.weights.note)
    if request.weights.resident != 1.0 and not request.measured.weights_bytes:
        said.append("this format is laid out anew while loading: 9 to 13 % above the files")
    if request.drafter and isinstance(request.drafter.shape, Unknown):
        said.append(f"the drafter's KV shape is unknown ({request.drafter.shape.reason}): taken from the target's")
    if not request.shape.checked:
        said.append("the KV cell of this model type was not compared with a published number")
    if request.shape.state and request.state_ratio is None:
        said.append("the recipe sets the number of recurrent states: their bytes are not counted")
    return tuple(said)
