"""Whatever stands in the way names the way out, in a sentence of its own."""

from __future__ import annotations

from typing import Any

import pytest

from console.gates.arguments import Finding, Validation, arguments_gate, check_flags
from console.gates.drafter import Pair, drafter_gate
from console.gates.gate import Gate
from console.gates.gpus import gpus_gate
from console.gates.host import HostView, host_gate
from console.gates.memory import memory_gate
from console.gates.ports import ports_gate
from console.gates.rules import Plan, check_rules, layout_of, long_names
from console.models.config import ModelConfig
from console.models.weights import Layout
from console.values import Unknown
from tests.support.engines import VERSIONS, kimi_config, recorded_engine

NOTHING = Unknown("not asked")
DENSE = ModelConfig({"architectures": ["Qwen3ForCausalLM"], "num_hidden_layers": 4, "num_attention_heads": 8,
                     "num_key_value_heads": 6})  # fmt: skip
BLOCK_FP8 = ModelConfig(
    {
        "architectures": ["Qwen3MoeForCausalLM"], "num_attention_heads": 8, "num_experts": 8,
        "moe_intermediate_size": 768, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    }
)  # fmt: skip
BAD: list[tuple[ModelConfig, dict[str, Any]]] = [
    (kimi_config(), {"frobnicate": 1}),
    (kimi_config(), {"cuda-graph": 1}),
    (kimi_config(), {"max-running-req": 5}),
    (kimi_config(), {"page-size": "many"}),
    (kimi_config(), {"mem-fraction-static": "most"}),
    (kimi_config(), {"attention-backend": "nosuch"}),
    (kimi_config(), {"load-format": "dumy"}),
    (kimi_config(), {"trust-remote-code": 1}),
    (kimi_config(), {"context-length": True}),
    (kimi_config(), {"port": 1}),
    (kimi_config(), {"tp": 7}),
    (kimi_config(), {"tp": 8, "ep": 3}),
    (kimi_config(), {"tp": 8, "ep": 4, "moe-a2a-backend": "deepep"}),
    (kimi_config(), {"pp": 99}),
    (kimi_config(), {"tp": 8, "nnodes": 3}),
    (kimi_config(), {"pp": 8, "speculative-algorithm": "DFLASH"}),
    (kimi_config(), {"pp": 8, "speculative-algorithm": "NGRAM"}),
    (kimi_config(), {"tp": 8, "speculative-algorithm": "DDTREE"}),
    (kimi_config(), {"tp": 8, "speculative-algorithm": "EAGLE3", "speculative-num-steps": 3}),
    (kimi_config(), {"speculative-algorithm": "DFLASH", "device": "cpu"}),
    (kimi_config(), {"speculative-algorithm": "DFLASH", "speculative-dflash-block-size": 8,
                     "speculative-num-draft-tokens": 16}),
    (kimi_config(), {"speculative-algorithm": "NGRAM", "page-size": 16, "speculative-eagle-topk": 4}),
    (kimi_config(), {"enable-mixed-chunk": True, "speculative-algorithm": "STANDALONE"}),
    (kimi_config(), {"page-size": 48, "chunked-prefill-size": 8192}),
    (kimi_config(), {"tp": 8, "dp": 8, "enable-dp-attention": True, "speculative-algorithm": "NGRAM"}),
    (DENSE, {"tp": 4}),
    (DENSE, {"tp": 2, "ep": 2}),
    (ModelConfig({"architectures": ["NoSuchForCausalLM"]}), {}),
    (ModelConfig({}), {}),
    (BLOCK_FP8, {"tp": 8}),
]  # fmt: skip


def findings(version: str, config: ModelConfig, args: dict[str, Any]) -> list[Finding]:
    engine = recorded_engine(version)
    long = long_names(args, engine)
    layout, replicas = layout_of(long)
    plan = Plan(args=long, engine=engine, layout=layout, replicas=replicas, config=config, served_name="a:b",
                device=str(args.get("device", "cuda")))  # fmt: skip
    return [*check_flags(args, engine), *check_rules(plan)]


@pytest.mark.parametrize(("config", "args"), BAD, ids=[str(args) for _, args in BAD])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_finding_that_stops_has_a_way_out(version: str, config: ModelConfig, args: dict[str, Any]) -> None:
    stopping = [found for found in findings(version, config, args) if found.verdict in ("block", "unknown")]
    assert {found.rule for found in stopping} - {"served_name"}, "it stops nothing"
    for found in stopping:
        assert found.way_out, found


def unknown_gates() -> list[Gate]:
    engine = recorded_engine("0.5.23")
    view = HostView(driver=NOTHING, capability=NOTHING, nvlink=NOTHING, level=NOTHING, iommu=NOTHING, shm_bytes=1 << 40)
    drafted = Pair(
        algorithm="DFLASH", target_id="t", target=kimi_config(), draft_id="d", draft=NOTHING, engine=engine,
        layout=Layout(),
    )  # fmt: skip
    return [
        memory_gate("r", NOTHING),
        arguments_gate("r", NOTHING, [], None),
        arguments_gate("r", engine, [], Validation(result="unknown", sentence="too slow")),
        arguments_gate("r", engine, [], Validation(result="refused", sentence="no")),
        arguments_gate("r", recorded_engine("0.5.23", problem={"message": "broken"}), [], None),
        drafter_gate(drafted),
        ports_gate({30000: "HTTP"}, NOTHING),
        gpus_gate(NOTHING, needed=1),
        host_gate("r", view, recorded_engine("0.5.23", torch={"version": "2.14.1", "cuda": "13.0"}), 8, {}),
    ]


@pytest.mark.parametrize("gate", unknown_gates(), ids=lambda gate: f"{gate.name}-{gate.state}")
def test_every_gate_that_stops_has_a_way_out(gate: Gate) -> None:
    assert gate.verdict in ("block", "unknown")
    assert gate.way_out, gate.sentence


def test_a_near_miss_of_a_choice_is_told() -> None:
    (found,) = [f for f in findings("0.5.23", kimi_config(), {"load-format": "dumy"}) if f.rule == "choice"]
    assert found.way_out == ('write load-format = "dummy"',)


def test_unknown_links_between_gpus_are_a_warning_and_links_of_one_gpu_are_none() -> None:
    engine = recorded_engine("0.5.23")
    view = HostView(
        driver="580.1", capability=((9, 0),), nvlink=NOTHING, level=NOTHING, iommu=NOTHING, shm_bytes=1 << 40
    )
    gate = host_gate("r", view, engine, 8, {})
    assert (gate.verdict, gate.state) == ("warn", "links")
    assert "not asked" in gate.sentence
    assert host_gate("r", view, engine, 1, {}).verdict == "pass"


def test_the_sentence_says_whose_rule_it_was() -> None:
    engine = recorded_engine("0.5.23")
    ours = [Finding(rule="x", verdict="warn", sentence="Hm.")]
    said = arguments_gate("r", engine, ours, Validation(result="accepted", sentence="")).sentence
    assert said.endswith("SGLang's own validation passes.")
    assert arguments_gate("r", engine, ours, None).sentence.endswith("was not asked.")
