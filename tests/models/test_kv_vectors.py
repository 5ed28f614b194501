"""KV bytes against published numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.models.config import ModelConfig
from console.models.geometry import Geometry, geometry
from console.models.kv import GIB, dtype_bytes, kv_cell
from console.values import known

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "kv_bytes.json").read_text())


def shape_of(given: dict[str, Any]) -> Geometry:
    split = {key: given[key] for key in ("full_attention_layers", "swa_layers") if key in given}
    shape = geometry(ModelConfig({**given["config"], **split}))
    assert known(shape), shape
    return shape


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_published_kv_bytes(vector: dict[str, Any]) -> None:
    given, expected, tolerance = vector["input"], vector["expected"], vector["tolerance"]
    shape = shape_of(given)
    cells = [
        kv_cell(
            shape,
            tp=tp,
            element=element,
            dsa_fp8=given.get("dsa_fp8", False),
            indexer=given.get("indexer", False),
        )
        for tp in as_list(given["tp"])
        for element in map(dtype_bytes, as_list(given["kv_dtype"]))
        if known(element)
    ]
    # A pool holds one page more than it offers; that of sliding layers whole pages of its share.
    page, tokens = given.get("page_size", 1), given.get("tokens")
    got: dict[str, Any] = {
        "bytes_per_token_per_gpu": [cell.bytes_per_token for cell in cells],
        "k_gib": cells[0].k * ((tokens or 0) + page) / GIB,
        "v_gib": cells[0].v * ((tokens or 0) + page) / GIB,
        "total_gib": cells[0].bytes_per_token * ((tokens or 0) + page) / GIB,
        "swa_k_bytes_per_token": cells[0].swa_k,
        "swa_v_bytes_per_token": cells[0].swa_v,
        "all_layers_bytes_per_token": cells[0].k + cells[0].v + cells[0].swa_k + cells[0].swa_v,
        "full_layers_only_bytes_per_token": cells[0].k + cells[0].v,
        "sglang_default_bytes_per_token": cells[0].bytes_per_token,
    }
    if "full_tokens" in given:
        swa = int(given["full_tokens"] * given["swa_full_tokens_ratio"]) // page * page
        got |= {
            "swa_tokens": swa,
            "swa_k_gib": cells[0].swa_k * (swa + page) / GIB,
            "swa_v_gib": cells[0].swa_v * (swa + page) / GIB,
        }
    if tokens:
        got["all_layers_gib"] = got["all_layers_bytes_per_token"] * tokens / GIB
        got["full_layers_only_gib"] = got["full_layers_only_bytes_per_token"] * tokens / GIB
    checked = 0
    for name, want in expected.items():
        if name.startswith("wrong_"):
            assert want not in got["bytes_per_token_per_gpu"]
            continue
        room = tolerance.get("gib", 0.006) if name.endswith("gib") else 0
        value = got[name] if isinstance(want, list) or not isinstance(got[name], list) else got[name][0]
        assert value == pytest.approx(want, abs=room, rel=0), name
        checked += 1
    assert checked


def test_an_architecture_without_a_formula_is_unknown() -> None:
    shape = geometry(ModelConfig({"model_type": "frobnitz", "num_hidden_layers": 2, "num_attention_heads": 2}))
    assert not known(shape)
    assert "frobnitz" in shape.reason
