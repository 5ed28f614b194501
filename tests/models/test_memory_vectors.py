"""Weights, default fraction, budget, balance, tokens and stages against published and executed numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.models.budget import Serving, Vision, imbalance, kv_budget, max_tokens, static_plan
from console.models.config import ModelConfig
from console.models.kv import GIB
from console.models.parameters import parameters
from console.models.weights import Layout, pp_split, stage_bytes, weights_from_config
from console.values import known

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "memory_fit.json").read_text())
# What the vectors state in words: how the stored bytes are packed.
PACKED = {
    "w-gpt-oss-120b": {"quant_method": "mxfp4"},
    "w-deepseek-r1-tp8": {"quant_method": "fp8", "weight_block_size": [128, 128]},
}


def of_kind(*kinds: str) -> list[Any]:
    chosen = [vector for vector in VECTORS if vector["kind"] in kinds]
    assert chosen
    return [pytest.param(vector, id=vector["id"]) for vector in chosen]


def config_of(vector: dict[str, Any]) -> ModelConfig:
    extra = {"quantization_config": PACKED[vector["id"]]} if vector["id"] in PACKED else {}
    return ModelConfig({**vector["input"]["config"], **extra})


@pytest.mark.parametrize("vector", of_kind("weight_bytes", "weight_bytes_per_gpu"))
def test_weights(vector: dict[str, Any]) -> None:
    config, expected, tolerance = config_of(vector), vector["expected"], vector["tolerance"]
    counts = parameters(config)
    vision = vector["input"]["assumptions"].get("vision_bytes", 0)
    weights = weights_from_config(config, vision_bytes=vision)
    assert known(counts)
    assert known(weights)
    got = {
        "parameters": counts.total,
        "text_parameters": counts.total,
        "expert_parameters": counts.moe_layers * counts.experts,
        "checkpoint_bytes": round(weights.total_bytes),
        "checkpoint_gib": weights.total_bytes / GIB,
        "checkpoint_gb_decimal": weights.total_bytes / 1e9,
        "gib_per_gpu": stage_bytes(weights, Layout(tp=vector["input"].get("tp", 1)))[0] / GIB,
    }
    for name, want in expected.items():
        assert got[name] == pytest.approx(want, abs=tolerance.get(name, 0.05 if "gib" in name else 0), rel=0), name


@pytest.mark.parametrize("vector", of_kind("default_mem_fraction"))
def test_the_default_fraction_is_the_executed_functions(vector: dict[str, Any]) -> None:
    given = vector["input"]
    vision = given["vision"]
    plan = static_plan(
        given["gpu_mib"],
        Serving(
            tp=given["tp"],
            pp=given["pp"],
            attention_dp=given["attn_dp"],
            mla=given["mla"],
            vision=Vision(vision["num_hidden_layers"], vision["hidden_size"]) if vision else None,
            prefill_graph=given["prefill_cuda_graph"],
            deepep=given["deepep"],
            chunked_prefill=given["chunked_prefill_size"],
            max_running=given["max_running_requests"],
        ),
    )
    expected = vector["expected"]
    assert plan.fraction == pytest.approx(expected["mem_fraction_static"], abs=1e-6)
    assert plan.chunked_prefill == expected["chunked_prefill_size"]
    assert plan.decode_max_batch == expected["decode_graph_max_bs"]
    assert plan.prefill_buckets == expected["prefill_graph_buckets"]


@pytest.mark.parametrize("vector", of_kind("kv_budget"))
def test_what_is_left_for_the_kv_cache(vector: dict[str, Any]) -> None:
    given, expected, tolerance = vector["input"], vector["expected"], vector["tolerance"]
    budget = kv_budget(
        given["pre_gib"] * GIB,
        given["avail_after_weights_gib"] * GIB,
        given["mem_fraction_static"],
        given["mm_reserved_mb"] << 20,
    )
    assert ("start" if budget.starts else "refuse") == expected["verdict"]
    assert budget.kv_bytes / GIB == pytest.approx(expected["kv_gib"], abs=tolerance["kv_gib"])
    assert budget.min_fraction == pytest.approx(expected["min_fraction"], abs=tolerance["min_fraction"])
    assert budget.printed == pytest.approx(expected["printed_suggestion"], abs=1e-9)
    assert budget.smallest_working == pytest.approx(expected["smallest_working_3dp"], abs=1e-9)


@pytest.mark.parametrize("vector", of_kind("tp_balance"))
def test_unbalanced_gpus_are_refused(vector: dict[str, Any]) -> None:
    assert imbalance(tuple(vector["input"]["free_gib"])) == vector["expected"]["outlier"]


@pytest.mark.parametrize("vector", of_kind("max_tokens"))
def test_tokens(vector: dict[str, Any]) -> None:
    given = vector["input"]
    tokens = max_tokens(given["kv_budget_gib"] * GIB, given["bytes_per_token_per_gpu"], given["page_size"])
    assert tokens == vector["expected"]["max_tokens"]


@pytest.mark.parametrize("vector", of_kind("pp_split"))
def test_the_remainder_goes_to_the_last_stages(vector: dict[str, Any]) -> None:
    layers = pp_split(vector["input"]["num_hidden_layers"], vector["input"]["pp"])
    assert list(layers) == vector["expected"]["layers"]
