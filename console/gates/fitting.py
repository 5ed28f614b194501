"""From a recipe to the memory arithmetic's request: what each flag means for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from console.gates.gpus import GpuView, foreign_bytes
from console.gates.inputs import Inputs, Repository
from console.models.budget import Serving, Vision
from console.models.config import ModelConfig
from console.models.fit import STATE_RATIO, Drafter, Fit, FitRequest, GpuRoom, fit
from console.models.geometry import Geometry, geometry
from console.models.kv import SWA_RATIO, dtype_bytes
from console.models.weights import Layout, Weights, stage_bytes
from console.values import Unknown, known


def fit_of(inputs: Inputs, resolved: Mapping[str, Any] | None = None) -> Fit | Unknown:
    """The fit of a recipe on its GPUs, or the first thing that is not known. `resolved`: what SGLang's own
    validation made of the arguments; its default fraction beats the formula's, which is one version's."""
    config, weights = inputs.target.config, inputs.target.weights
    if not known(config):
        return config
    if not known(weights):
        return weights
    shape, rooms = geometry(config), _rooms(inputs)
    if not known(shape):
        return shape
    if not known(rooms):
        return rooms
    element, drafter = _element(inputs.args, config), _drafter(inputs)
    if not known(element):
        return element
    if drafter is not None and not known(drafter):
        return drafter
    request = _request(inputs, config, weights, shape, rooms, element, drafter)
    own = (resolved or {}).get("mem_fraction_static")
    if request.fraction is None and isinstance(own, float) and 0 < own < 1:
        request = msgspec.structs.replace(request, resolved=own)
    return fit(request)


def _request(
    inputs: Inputs,
    config: ModelConfig,
    weights: Weights,
    shape: Geometry,
    rooms: tuple[GpuRoom, ...],
    element: float,
    drafter: Drafter | None,
) -> FitRequest:
    args, layout = inputs.args, inputs.layout
    ratio = args.get("swa-full-tokens-ratio")
    fraction = args.get("mem-fraction-static")
    version = inputs.engine.version if known(inputs.engine) else inputs.engine
    return FitRequest(
        weights=weights,
        shape=shape,
        layout=layout,
        serving=serving_of(args, layout, config, mla=shape.kind == "mla"),
        gpus=rooms,
        element=element,
        fraction=float(fraction) if isinstance(fraction, int | float) and fraction else None,
        page_size=_number(args, "page-size") or 1,
        multimodal=config.at("vision_config") is not None,
        drafter=drafter,
        measured=inputs.measured,
        max_total_tokens=_number(args, "max-total-tokens"),
        swa_ratio=float(ratio) if isinstance(ratio, int | float) and not isinstance(ratio, bool) else SWA_RATIO,
        state_ratio=_state_ratio(args),
        dsa_fp8=shape.index_head_dim > 0 and str(args.get("kv-cache-dtype", "")).startswith("fp8"),
        version=version if known(version) else "an unknown version",
    )


def serving_of(args: dict[str, Any], layout: Layout, config: ModelConfig, *, mla: bool) -> Serving:
    """The flags that SGLang's default fraction depends on."""
    graphs = args.get("disable-cuda-graph") is not True
    return Serving(
        tp=layout.tp,
        pp=layout.pp,
        attention_dp=layout.dp,
        mla=mla,
        vision=_vision(config),
        prefill_graph=graphs and layout.pp == 1 and args.get("cuda-graph-backend-prefill") != "disabled",
        decode_graph=graphs and args.get("cuda-graph-backend-decode") != "disabled",
        deepep=args.get("moe-a2a-backend") == "deepep",
        chunked_prefill=_number(args, "chunked-prefill-size"),
        max_running=_number(args, "max-running-requests"),
        decode_max_batch=_number(args, "cuda-graph-max-bs-decode") or _number(args, "cuda-graph-max-bs"),
    )


def _vision(config: ModelConfig) -> Vision | None:
    """The tower as SGLang's formula reads it: 24 layers of 1024 are the formula's own numbers for an absent one."""
    if not isinstance(config.at("vision_config"), dict):
        return None
    layers = config.count("num_hidden_layers", places=("vision_config",))
    hidden = config.count("hidden_size", places=("vision_config",))
    return Vision(layers if known(layers) else 24, hidden if known(hidden) else 1024)


def _state_ratio(args: dict[str, Any]) -> float | None:
    """None where the arguments fix the number of recurrent states."""
    if _number(args, "max-mamba-cache-size"):
        return None
    if args.get("disable-radix-cache") is True and _number(args, "max-running-requests"):
        return None
    ratio = args.get("mamba-full-memory-ratio")
    return float(ratio) if isinstance(ratio, int | float) and not isinstance(ratio, bool) and ratio > 0 else STATE_RATIO


def _number(args: dict[str, Any], name: str) -> int | None:
    value = args.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _rooms(inputs: Inputs) -> tuple[GpuRoom, ...] | Unknown:
    if not known(inputs.gpus):
        return inputs.gpus
    rooms = [_room(gpu, inputs.own_pids) for gpu in inputs.gpus]
    missing = next((room for room in rooms if not known(room)), None)
    if missing is not None:
        return missing
    if len(rooms) < inputs.layout.gpus:
        return Unknown(f"tp × pp needs {inputs.layout.gpus} GPUs, the recipe has {len(rooms)}")
    return tuple(room for room in rooms if known(room))


def _room(gpu: GpuView, own_pids: frozenset[int]) -> GpuRoom | Unknown:
    foreign = foreign_bytes(gpu, own_pids)
    for value in (gpu.total_bytes, gpu.reserved_bytes, foreign):
        if not known(value):
            return Unknown(f"GPU {gpu.index}: {value.reason}")
    assert known(gpu.total_bytes)
    assert known(gpu.reserved_bytes)
    assert known(foreign)
    return GpuRoom(
        uuid=gpu.uuid,
        index=gpu.index,
        total_bytes=gpu.total_bytes,
        reserved_bytes=gpu.reserved_bytes,
        foreign_bytes=foreign,
    )


def _element(args: dict[str, Any], config: ModelConfig) -> float | Unknown:
    """Bytes of a KV element: `auto` is the model's own type."""
    named = args.get("kv-cache-dtype", "auto")
    if named != "auto":
        return dtype_bytes(str(named))
    own = args.get("dtype", "auto")
    if own != "auto":
        return dtype_bytes(str(own))
    stored = config.dtype
    return dtype_bytes(stored) if known(stored) else 2.0  # SGLang serves every other type in 16 bits


def _drafter(inputs: Inputs) -> Drafter | Unknown | None:
    if inputs.draft is None or not inputs.args.get("speculative-algorithm"):
        return None
    draft: Repository = inputs.draft
    held, source = draft_bytes(draft, inputs.layout)
    if not known(held):
        return Unknown(f"the drafter's weights: {held.reason}")
    layers = draft.config.count("num_hidden_layers") if known(draft.config) else draft.config
    if not known(layers):
        return Unknown(f"the drafter's KV cache: {layers.reason}")
    element = _element({}, draft.config) if known(draft.config) else 2.0
    return Drafter(
        weights_bytes=held,
        layers=layers,
        shape=geometry(draft.config) if known(draft.config) else draft.config,
        element=element if known(element) else 2.0,
        source=source,
    )


def draft_bytes(draft: Repository, layout: Layout) -> tuple[float | Unknown, str]:
    """Bytes of the drafter on one GPU before it was ever loaded, and where the number comes from."""
    if known(draft.weights) and draft.weights.source == "file headers":
        return stage_bytes(draft.weights, Layout(tp=layout.tp, dp=layout.dp))[0], draft.weights.source
    if known(draft.total_bytes):
        return draft.total_bytes / layout.attention_tp, "size of its files"
    if known(draft.weights):
        return stage_bytes(draft.weights, Layout(tp=layout.tp, dp=layout.dp))[0], draft.weights.source
    return draft.weights, ""
