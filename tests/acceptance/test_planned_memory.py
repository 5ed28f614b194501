"""The plan against what SGLang 0.5.11 printed on H200s, at the fraction that it resolved by itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from console.models.budget import Serving
from console.models.config import ModelConfig
from console.models.fit import Drafter, Fit, FitRequest, GpuRoom, fit
from console.models.geometry import geometry
from console.models.kv import GIB
from console.models.weights import Layout, stage_bytes, weights_from_config
from console.values import known
from tests.acceptance.place import DRAFT, TARGET

COMMON: dict[str, Any] = {"model_type": "qwen3", "vocab_size": 512, "torch_dtype": "bfloat16"}
DRAFTER = {**COMMON, **DRAFT, "architectures": ["DFlashDraftModel"]}
SEGMENT = 20 << 20  # torch's allocator puts tensors of 1 to 10 MiB into segments of 20


class Seen(NamedTuple):
    """A start of the acceptance: sizes in GiB per GPU as printed, the pools of target and drafter together."""

    tp: int
    draft: bool
    fraction: float
    tokens: int
    weights_gb: float
    kv_gb: float


SEEN = {
    "ar": Seen(1, False, 0.906, 1_154_707, 2.70, 123.34),
    "ngram": Seen(1, False, 0.909, 1_158_616, 2.70, 123.76),
    "dflash": Seen(1, True, 0.877, 977_300, 2.70, 104.38 + 14.92),
    "tp2": Seen(2, False, 0.905, 2_318_724, 1.34, 123.84),
}


def planned(seen: Seen) -> Fit:
    config, draft = ModelConfig({**COMMON, **TARGET}), ModelConfig(DRAFTER)
    weights, drafted = weights_from_config(config), weights_from_config(draft)
    shape, own = geometry(config), geometry(draft)
    assert known(weights)
    assert known(drafted)
    assert known(shape)
    held = stage_bytes(drafted, Layout(tp=seen.tp))[0]
    drafter = Drafter(weights_bytes=held, layers=4, shape=own, element=2, source="") if seen.draft else None
    room = GpuRoom(uuid="GPU-0", index=0, total_bytes=143771 << 20, reserved_bytes=644_939_776, foreign_bytes=0)
    return fit(
        FitRequest(
            weights=weights, shape=shape, layout=Layout(tp=seen.tp), serving=Serving(tp=seen.tp), element=2,
            gpus=(room,) * seen.tp, drafter=drafter, resolved=seen.fraction,
        )
    )  # fmt: skip


@pytest.mark.parametrize("seen", SEEN.values(), ids=SEEN)
def test_weights_and_pool_are_within_three_per_cent(seen: Seen) -> None:
    answer = planned(seen)
    bar = answer.gpus[-1]
    assert answer.fraction == seen.fraction
    assert dict(answer.sources)["fraction"] == "default of the box's SGLang"
    assert bar.weights_bytes / GIB == pytest.approx(seen.weights_gb, rel=0.03)
    assert bar.kv_bytes / GIB == pytest.approx(seen.kv_gb, rel=0.03)
    assert answer.tokens == pytest.approx(seen.tokens, rel=0.01)


def test_a_block_drafter_is_layers_projection_and_position_table() -> None:
    """0.43 GB were printed: four layers, the projection of four captured layers and a table of 32,768 positions. What
    is left, 8 MiB, is the allocator's: four output projections of 8 MiB lie in two segments of 20."""
    weights = weights_from_config(ModelConfig(DRAFTER))
    assert known(weights)
    without = weights_from_config(ModelConfig({**DRAFTER, "dflash_config": {}}))
    assert known(without)
    assert weights.total_bytes - without.total_bytes == 4 * 2048 * 2048 * 2
    assert weights.embed == 0
    assert weights.tables == 32768 * 128 * 4
    held = stage_bytes(weights, Layout())[0]
    assert held / GIB == pytest.approx(0.43, rel=0.03)
    assert (held + 2 * SEGMENT - 4 * (8 << 20)) / GIB == pytest.approx(0.43, abs=0.005)


@pytest.mark.parametrize(
    ("config", "allocated"), [(TARGET, 2_839_805_952), (DRAFT, 453_029_888)], ids=["target", "drafter"]
)
def test_what_pytorch_allocated_is_what_is_planned(config: dict[str, Any], allocated: int) -> None:
    """`torch.cuda.memory_allocated` around the loading of each model (tests/acceptance/weights_hook.py)."""
    weights = weights_from_config(ModelConfig(DRAFTER if config is DRAFT else {**COMMON, **config}))
    assert known(weights)
    assert stage_bytes(weights, Layout())[0] == pytest.approx(allocated, rel=1e-4)


def test_the_targets_remainder_is_the_allocators_too() -> None:
    """28 output projections of 8 MiB, two in a segment of 20: with the 56 MiB between them it is what was printed."""
    weights = weights_from_config(ModelConfig({**COMMON, **TARGET}))
    assert known(weights)
    assert (stage_bytes(weights, Layout())[0] + 14 * SEGMENT - 28 * (8 << 20)) / GIB == pytest.approx(2.70, abs=0.005)
