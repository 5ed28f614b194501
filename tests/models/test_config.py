"""Model facts: found where they are, unknown where they are not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.models.config import ModelConfig, Quantization, parse_config
from console.models.geometry import Geometry, geometry, recurrent_layers
from console.models.kv import kv_cell
from console.models.weights import Layout, TensorGroup, stage_bytes, weights_from_headers, weights_from_listing
from console.values import Unknown, known
from tests.support.engines import kimi_config, kimi_drafter, vector_config


def test_nested_facts_say_where_they_were_found() -> None:
    config = kimi_config()
    assert config.count("num_hidden_layers") == 61
    assert config.where("num_hidden_layers") == "text_config.num_hidden_layers"
    assert config.architectures == ("KimiK25ForConditionalGeneration",)
    assert config.model_type == "kimi_k2"
    quantization = config.quantization
    assert isinstance(quantization, Quantization)
    assert (quantization.bits, quantization.group_size) == (4, 32)
    assert quantization.where == "text_config.quantization_config"


def test_what_is_absent_names_the_paths_tried_and_no_default() -> None:
    config = kimi_config()
    missing = config.count("head_dim")
    assert isinstance(missing, Unknown)
    assert "text_config.head_dim" in missing.reason
    assert not known(config.layer_types)
    assert not known(config.dtype)


@pytest.mark.parametrize("value", [-1, 1.5, True, "61", [61], 1 << 60])
def test_a_value_of_the_wrong_kind_is_unknown(value: object) -> None:
    found = ModelConfig({"num_hidden_layers": value}).count("num_hidden_layers")
    assert isinstance(found, Unknown)
    assert "wrong kind" in found.reason


def test_a_drafters_block_size_is_read_at_both_places() -> None:
    assert kimi_drafter().block_size == 8
    assert kimi_drafter(dflash_config={}, block_size=4).block_size == 4
    assert not known(kimi_drafter(dflash_config={}).block_size)
    assert kimi_drafter().target_layer_ids == (1, 15, 30, 45, 59)


def test_the_files_of_remote_code_are_those_that_auto_map_names_at_any_level() -> None:
    named = {"AutoConfig": "configuration_x.XConfig", "AutoModel": "org/other--modeling_x.X"}
    config = ModelConfig({"text_config": {"auto_map": named}})
    assert config.auto_map == named
    assert config.code_files == ("configuration_x.py", "modeling_x.py")
    assert ModelConfig({}).code_files == ()


@pytest.mark.parametrize("text", ["", "[]", "{", '"x"', "\x00", "nul"])
def test_what_is_no_configuration_is_unknown(text: str) -> None:
    assert isinstance(parse_config(text), Unknown)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
known_keys = st.sampled_from(
    ["model_type", "num_hidden_layers", "num_attention_heads", "layer_types", "text_config", "quantization_config",
     "hidden_size", "kv_lora_rank", "architectures", "auto_map", "head_dim", "dflash_config", "block_size"]
)  # fmt: skip


@given(st.dictionaries(known_keys, json_values | st.just("llama") | st.integers(0, 64)))
def test_no_configuration_breaks_the_reader(data: dict[str, object]) -> None:
    config = ModelConfig(data)
    for answer in (config.quantization, config.block_size, config.architectures, config.dtype, geometry(config)):
        assert answer is None or isinstance(answer, Unknown) or answer is not None
    shape = geometry(config)
    if known(shape):
        assert shape.layers == config.count("num_hidden_layers")


def test_header_groups_are_placed() -> None:
    groups = (
        TensorGroup("model.embed_tokens.weight", 100),
        TensorGroup("lm_head.weight", 90),
        TensorGroup("model.layers.0.self_attn.o_proj.weight", 10),
        TensorGroup("model.layers.0.self_attn.q_a_proj.weight", 4),
        TensorGroup("model.layers.1.mlp.experts.*.down_proj.weight", 800, 8),
        TensorGroup("model.layers.1.mlp.shared_experts.up_proj.weight", 20),
        TensorGroup("model.layers.1.mlp.gate.weight", 3),
        TensorGroup("model.layers.2.mlp.up_proj.weight", 7777),
        TensorGroup("vision_tower.encoder.blocks.0.attn.weight", 50),
    )
    weights = weights_from_headers(groups, ModelConfig({"num_hidden_layers": 2}))
    assert known(weights)
    first, second = weights.layers
    assert (weights.embed, weights.head, weights.vision) == (100, 90, 50)
    assert (first.attention, first.replicated) == (10, 4)
    assert (second.experts, second.mlp, second.replicated) == (800, 20, 3)
    assert not known(weights_from_headers((), ModelConfig({})))


def test_mixed_layer_types_are_counted_apart() -> None:
    types = ["sliding_attention", "full_attention"] * 12
    config = vector_config("kv_bytes.json", "swa-gpt-oss-20b")
    shape = geometry(ModelConfig({**config.data, "layer_types": types}))
    assert known(shape)
    assert (shape.full, shape.sliding) == (12, 12)
    assert not known(geometry(config))


def test_windowed_layers_count_fully_where_they_get_no_pool_of_their_own() -> None:
    shape = {"num_hidden_layers": 6, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 128}
    types = ["sliding_attention"] * 5 + ["full_attention"]
    gemma = geometry(ModelConfig({"text_config": {"model_type": "gemma3_text", "layer_types": types, **shape}}))
    assert known(gemma)
    assert (gemma.full, gemma.sliding, gemma.kind) == (6, 0, "gqa")
    oss = geometry(ModelConfig({"model_type": "gpt_oss", "layer_types": types, **shape}))
    assert known(oss)
    assert (oss.full, oss.sliding) == (1, 5)


def test_llama_4_has_a_full_layer_every_fourth_by_its_code() -> None:
    text = {"model_type": "llama4_text", "num_hidden_layers": 48, "num_attention_heads": 40, "num_key_value_heads": 8,
            "head_dim": 128}  # fmt: skip
    shape = geometry(ModelConfig({"model_type": "llama4", "text_config": text}))
    assert known(shape)
    assert (shape.full, shape.sliding, shape.checked) == (12, 36, False)


def test_weights_that_cannot_be_counted_are_the_files_bytes_with_a_wide_margin() -> None:
    text = {"model_type": "gemma3_text", "num_hidden_layers": 10}
    config = ModelConfig({"text_config": text})
    spread = weights_from_listing(config, 50_000_000_000)
    assert known(spread)
    assert (spread.source, spread.ratio) == ("sizes of its files", 0.1)
    assert stage_bytes(spread, Layout(tp=2)) == (25_000_000_000,)
    assert "gemma3_text" in spread.note
    assert not known(weights_from_listing(config, Unknown("not listed")))
    assert not known(weights_from_listing(ModelConfig({}), 50_000_000_000))


def test_files_far_smaller_than_the_configuration_are_told() -> None:
    counted = weights_from_listing(kimi_drafter(), 1_000_000)
    assert known(counted)
    assert "its files have 976.6 KiB" in counted.note
    whole = weights_from_listing(kimi_drafter(), round(counted.total_bytes))
    assert known(whole)
    assert whole.note == ""


QWEN3_NEXT = {"model_type": "qwen3_next", "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
              "head_dim": 256}  # fmt: skip


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        ({"layer_types": ["linear_attention", "full_attention"]}, 1),
        ({"text_config": {"num_hidden_layers": 48, "full_attention_interval": 4}}, 36),
        ({"num_hidden_layers": 4, "model_type": "qwen3"}, 0),
        ({"num_hidden_layers": 4, "hybrid_override_pattern": "M-M*"}, 2),
        ({"num_hidden_layers": 4, "mamba_d_state": 128}, None),
        (QWEN3_NEXT, None),
    ],
)
def test_recurrent_layers_are_counted_or_known_to_be_some(data: dict[str, object], answer: int | None) -> None:
    found = recurrent_layers(ModelConfig(data))
    assert found == answer if answer is not None else isinstance(found, Unknown)


def test_only_full_layers_of_a_hybrid_hold_kv() -> None:
    shape = geometry(ModelConfig({**QWEN3_NEXT, "full_attention_interval": 4}))
    assert known(shape)
    assert (shape.full, shape.recurrent) == (12, 36)
    assert not known(geometry(ModelConfig(QWEN3_NEXT)))


GEMMA4 = {
    "model_type": "gemma4_text", "num_hidden_layers": 6, "hidden_size": 64, "num_attention_heads": 8,
    "num_key_value_heads": 4, "num_global_key_value_heads": 2, "head_dim": 16, "global_head_dim": 32,
    "attention_k_eq_v": True, "num_kv_shared_layers": 0,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
}  # fmt: skip


def shape_of(**data: object) -> Geometry:
    shape = geometry(ModelConfig(dict(data)))
    assert known(shape)
    return shape


def test_full_layers_of_gemma_4_have_names_of_their_own() -> None:
    """As SGLang 0.5.23 itself reads this file: full 2 heads of 32, windowed 4 heads of 16."""
    shape = shape_of(text_config=GEMMA4)
    assert (shape.full, shape.kv_heads, shape.head_dim, shape.v_head_dim) == (1, 2, 32, 32)
    assert (shape.sliding, shape.swa_kv_heads, shape.swa_head_dim, shape.swa_v_head_dim) == (5, 4, 16, 16)
    assert not shape.checked
    cell = kv_cell(shape, tp=1, element=2)
    assert cell.bytes_per_token == 2 * 2 * 32 * 2 + int(0.8 * 5 * 4 * 16 * 2 * 2)
    assert shape_of(**{**GEMMA4, "attention_k_eq_v": False}).kv_heads == 4
    assert not known(geometry(ModelConfig({**GEMMA4, "num_kv_shared_layers": 2})))
    assert not known(geometry(ModelConfig({key: GEMMA4[key] for key in GEMMA4 if key != "global_head_dim"})))


HYBRID = {"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 16, "hidden_size": 128}


def test_a_nemotron_h_holds_a_cache_in_its_attention_layers_alone() -> None:
    """As SGLang 0.5.23 itself reads this pattern: attention in layers 3 and 6, Mamba in 0, 2 and 5."""
    told = {"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*-M*E", **HYBRID}
    shape = shape_of(**told)
    assert (shape.full, shape.recurrent, shape.layers, shape.state) == (2, 6, 8, True)
    assert kv_cell(shape, tp=1, element=2).bytes_per_token == 2 * 2 * 16 * 2 * 2
    assert recurrent_layers(ModelConfig(told)) == 3
    listed = ["mamba", "mlp", "attention", "moe"]
    assert shape_of(model_type="nemotron_h", layers_block_type=listed, **HYBRID).full == 1


def test_a_falcon_h1_keeps_a_state_beside_every_layers_cache() -> None:
    shape = shape_of(model_type="falcon_h1", num_hidden_layers=4, mamba_d_state=128, **HYBRID)
    assert (shape.full, shape.recurrent, shape.state) == (4, 0, True)
    assert not known(recurrent_layers(ModelConfig({"num_hidden_layers": 4, "mamba_d_state": 128})))
