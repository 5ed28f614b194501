"""Flags against the recorded versions, and the rules between them."""

from __future__ import annotations

from typing import Any

import pytest

from console.gates.arguments import Finding, Validation, arguments_gate, check_flags
from console.gates.rules import Plan, check_rules, layout_of, long_names
from console.models.config import ModelConfig
from console.values import Unknown
from tests.support.engines import VERSIONS, kimi_config, recorded_engine, vector_config


def flags(version: str, **args: Any) -> list[Finding]:
    return list(check_flags({key.replace("_", "-"): value for key, value in args.items()}, recorded_engine(version)))


def rules(version: str, config: ModelConfig | None = None, draft: str = "", **args: Any) -> dict[str, Finding]:
    concurrency = args.pop("concurrency", 1)
    engine = recorded_engine(version)
    long = long_names({key.replace("_", "-"): value for key, value in args.items()}, engine)
    layout, replicas = layout_of(long)
    plan = Plan(
        args=long,
        engine=engine,
        layout=layout,
        replicas=replicas,
        config=config or kimi_config(),
        draft=draft,
        concurrency=concurrency,
    )
    return {finding.rule: finding for finding in check_rules(plan)}


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_versions_are_read_whole(version: str) -> None:
    engine = recorded_engine(version)
    assert engine.version == version
    assert isinstance(engine.flags, dict)
    assert isinstance(engine.algorithms, tuple)
    assert {"DFLASH", "EAGLE", "NGRAM", "NEXTN"} <= set(engine.algorithms)
    assert ("DSPARK" in engine.algorithms) is (version == "0.5.23")
    assert engine.flag("--tp-size") is engine.flag("--tensor-parallel-size")


@pytest.mark.parametrize(
    ("version", "flag", "rule", "way"),
    [
        ("0.5.23", "cuda-graph-max-bs", "ambiguous", "--cuda-graph-max-bs-decode"),
        ("0.5.11", "cuda-graph-max-bs-decode", "unknown_flag", "--cuda-graph-max-bs"),
        ("0.5.23", "speculative-dflash-draft-window-size", "unknown_flag", "--speculative-draft-window-size"),
        ("0.5.11", "max-running-req", "abbreviated", "--max-running-requests"),
        ("0.5.23", "mem-fraction-statik", "unknown_flag", "--mem-fraction-static"),
        ("0.5.23", "frobnicate", "unknown_flag", "leave it out"),
    ],
)
def test_a_flag_that_is_not_exactly_known_blocks(version: str, flag: str, rule: str, way: str) -> None:
    (finding,) = flags(version, **{flag: 8})
    assert (finding.rule, finding.verdict) == (rule, "block")
    assert any(way in each for each in finding.way_out), finding
    assert f"--{flag}" in finding.sentence


@pytest.mark.parametrize(
    ("args", "rule"),
    [
        ({"page-size": "many"}, "type"),
        ({"page-size": 1.5}, "type"),
        ({"mem-fraction-static": "most"}, "type"),
        ({"attention-backend": "nosuch"}, "choice"),
        ({"trust-remote-code": "yes"}, "value"),
        ({"page-size": True}, "value"),
        ({"model-path": "/x"}, "own_flag"),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_wrong_values_block(version: str, args: dict[str, Any], rule: str) -> None:
    (finding,) = flags(version, **args)
    assert (finding.rule, finding.verdict) == (rule, "block")


@pytest.mark.parametrize("version", VERSIONS)
def test_an_omitted_flag_is_never_wrong(version: str) -> None:
    assert flags(version, frobnicate=False, page_size=False) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("word", ["tp", "pp", "dp", "ep"])
def test_size_words_of_recipes_are_known_though_some_are_ambiguous_prefixes(version: str, word: str) -> None:
    assert flags(version, **{word: 2}) == []


@pytest.mark.parametrize(
    ("args", "rule", "verdict"),
    [
        ({"tp": 3}, "heads", "block"),
        ({"tp": 8, "ep": 3}, "ep", "block"),
        ({"tp": 8, "ep": 4, "moe_a2a_backend": "deepep"}, "a2a_ep", "block"),
        ({"tp": 8, "nnodes": 3}, "nodes", "block"),
        ({"pp": 64}, "pp_layers", "block"),
        ({"pp": 8, "speculative_algorithm": "NGRAM"}, "pp_speculation", "block"),
        ({"tp": 8, "speculative_algorithm": "DFLASH"}, "draft", "block"),
        ({"tp": 8, "speculative_algorithm": "MAGIC"}, "algorithm", "block"),
        ({"tp": 8, "speculative_algorithm": "EAGLE", "speculative_num_steps": 3}, "eagle_parts", "block"),
        ({"page_size": 64, "chunked_prefill_size": 100}, "page_chunk", "block"),
        ({"speculative_algorithm": "NGRAM", "enable_mixed_chunk": True}, "mixed_chunk", "warn"),
        ({"speculative_num_draft_tokens": 4}, "no_algorithm", "warn"),
    ],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_rules_that_hold_in_both_versions(version: str, args: dict[str, Any], rule: str, verdict: str) -> None:
    found = rules(version, **args)
    assert rule in found, found
    assert found[rule].verdict == verdict


def test_dflash_with_attention_data_parallelism_differs_by_version() -> None:
    older = rules("0.5.11", draft="d", tp=8, dp=8, enable_dp_attention=True, speculative_algorithm="DFLASH")
    assert older["dp_speculation"].verdict == "block"
    newer = {"tp": 8, "attn_dp_size": 8, "speculative_algorithm": "DFLASH"}
    assert "enable-dp-lm-head" in rules("0.5.23", draft="d", **newer)["dp_speculation"].sentence
    assert "dp_speculation" not in rules("0.5.23", draft="d", **newer, enable_dp_lm_head=True)


def test_a_dense_model_has_no_expert_ranks() -> None:
    dense = vector_config("memory_fit.json", "w-qwen3-32b")
    assert rules("0.5.23", dense, tp=8, ep=8)["ep_dense"].verdict == "block"


def test_quantised_experts_must_divide_in_whole_blocks() -> None:
    config = ModelConfig(
        {
            "model_type": "qwen3_moe", "num_hidden_layers": 4, "num_attention_heads": 64, "num_key_value_heads": 8,
            "num_experts": 128, "moe_intermediate_size": 768, "hidden_size": 2048,
            "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
        }
    )  # fmt: skip
    assert rules("0.5.23", config, tp=8)["moe_block"].verdict == "block"
    assert "moe_block" not in rules("0.5.23", config, tp=8, ep=8)


@pytest.mark.parametrize(
    ("concurrency", "cap", "said"),
    [(64, None, True), (48, None, False), (64, 256, False), (300, 256, True), (None, None, True), (None, 256, False)],
)
def test_the_silent_cap_of_48_under_speculation(concurrency: int | None, cap: int | None, said: bool) -> None:
    extra = {"max_running_requests": cap} if cap else {}
    found = rules("0.5.11", draft="d", tp=8, speculative_algorithm="DFLASH", concurrency=concurrency, **extra)
    assert ("server_cap" in found) is said


def test_the_gate_says_whose_rule_it_was() -> None:
    engine = recorded_engine("0.5.23")
    passed = arguments_gate("r", engine, [], Validation(result="accepted", sentence=""))
    assert passed.verdict == "pass"
    refused = arguments_gate("r", engine, [], Validation(result="refused", sentence="ValueError: no"))
    assert refused.verdict == "block"
    assert refused.sentence.startswith("SGLang 0.5.23 refuses:")
    ours = arguments_gate("r", engine, [Finding(rule="ep", verdict="block", sentence="ep 3 …")], None)
    assert (ours.verdict, ours.numbers["our_rules"], ours.numbers["validation"]) == ("block", ["ep"], "not asked")


def test_a_validation_that_could_not_run_is_unknown_not_passed() -> None:
    gate = arguments_gate("r", recorded_engine("0.5.11"), [], Validation(result="unknown", sentence="60 s passed"))
    assert gate.verdict == "unknown"
    assert "60 s passed" in gate.sentence


def test_a_broken_interpreter_is_named_with_its_cause() -> None:
    problem = {"kind": "broken", "message": "ImportError: x", "cause": "ValueError: Either a revision or a version"}
    engine = recorded_engine("0.5.11", problem=problem, flags={"error": "ImportError: x"})
    gate = arguments_gate("r", engine, list(check_flags({"tp": 8}, engine)), None)
    assert gate.verdict == "block"
    assert "Either a revision or a version" in gate.sentence


def test_without_an_engine_nothing_is_known() -> None:
    assert arguments_gate("r", Unknown("no answer"), [], None).verdict == "unknown"
