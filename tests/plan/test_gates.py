"""The gates beside arguments: drafter, memory, ports, GPUs, host."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from console.config.exactness import Exactness
from console.events.host import GpuProcess
from console.gates.drafter import Pair, drafter_gate
from console.gates.gate import Gate
from console.gates.gpus import GpuView, choose, gpus_gate
from console.gates.host import HostView, host_gate
from console.gates.memory import memory_gate
from console.gates.plan import exit_code
from console.gates.ports import PortAnswer, ports_gate, wanted_ports
from console.models.budget import Serving
from console.models.config import ModelConfig
from console.models.fit import FitRequest, GpuRoom, fit
from console.models.geometry import geometry
from console.models.kv import GIB
from console.models.weights import Layout, weights_from_config
from console.values import Unknown, clean, known
from tests.support.engines import kimi_config, kimi_drafter, recorded_engine
from tests.support.kimi_plan import kimi_fit

# --- drafter ----------------------------------------------------------------------------------------------------


def pair(draft: ModelConfig | Unknown, target: ModelConfig | None = None, **changes: Any) -> Gate:
    values: dict[str, Any] = {
        "algorithm": "DFLASH",
        "target_id": "moonshotai/Kimi-K2.6",
        "target": target or kimi_config(),
        "draft_id": "z-lab/Kimi-K2.6-DFlash",
        "draft": draft,
        "engine": recorded_engine("0.5.11"),
        "layout": Layout(tp=8),
    }
    return drafter_gate(Pair(**(values | changes)))


@pytest.mark.parametrize(
    ("changes", "rule", "verdict"),
    [
        ({"vocab_size": 512}, "vocab_size", "block"),
        ({"hidden_size": 4096}, "hidden_size", "block"),
        ({"num_target_layers": 60}, "target_layers", "block"),
        ({"dflash_config": {"block_size": 8, "target_layer_ids": [61]}}, "target_layer_ids", "block"),
        ({"dflash_config": {"target_layer_ids": [1]}}, "block_size", "block"),
        ({"dflash_config": {"block_size": "x"}}, "block_size", "block"),
        ({"num_attention_heads": 12}, "draft_heads", "block"),
        ({"target_model": "moonshotai/Kimi-K2.5"}, "trained_for", "warn"),
        ({"vocab_size": None}, "vocab_size", "unknown"),
    ],
)
def test_a_drafter_that_does_not_belong(changes: dict[str, Any], rule: str, verdict: str) -> None:
    gate = pair(kimi_drafter(**changes))
    assert (gate.state, gate.verdict) == (rule, verdict), gate.sentence


def test_a_whole_small_model_may_have_another_width_but_no_other_vocabulary() -> None:
    small = {"num_hidden_layers": 4, "num_attention_heads": 8, "num_key_value_heads": 8, "vocab_size": 163840}
    alone = pair(ModelConfig({**small, "hidden_size": 1024}), algorithm="STANDALONE")
    assert (alone.verdict, "hidden size" in alone.sentence) == ("pass", False), alone.sentence
    other = pair(ModelConfig({**small, "hidden_size": 1024, "vocab_size": 512}), algorithm="STANDALONE")
    assert (other.verdict, other.state) == ("block", "vocab_size")


def test_a_drafter_that_belongs() -> None:
    assert pair(kimi_drafter()).verdict == "pass"
    assert pair(kimi_drafter(target_model="somebody/kimi-k2.6")).verdict == "pass"


def test_a_block_size_from_the_flags_replaces_an_unreadable_one() -> None:
    gate = pair(kimi_drafter(dflash_config={"target_layer_ids": [1]}), block_size=8)
    assert gate.verdict == "pass"


def test_a_target_class_without_capture_is_refused_and_an_unread_one_is_unknown() -> None:
    foreign = ModelConfig({**kimi_config().data, "architectures": ["GemmaForCausalLM"]})
    assert pair(kimi_drafter(), target=foreign).state == "capture"
    blind = recorded_engine("0.5.11", capture=None)
    assert pair(kimi_drafter(), engine=blind).verdict == "unknown"


def test_an_unread_drafter_is_unknown_not_sixteen() -> None:
    gate = pair(Unknown("gated"))
    assert gate.verdict == "unknown"
    assert "gated" in gate.sentence
    assert "16" not in gate.sentence


def test_tree_drafting_over_recurrent_layers_is_flagged() -> None:
    hybrid = ModelConfig({**kimi_config().data, "layer_types": ["linear_attention"] * 45 + ["full_attention"] * 16})
    gate = drafter_gate(
        Pair(algorithm="NGRAM", target_id="x/y", target=hybrid, engine=recorded_engine("0.5.23"), layout=Layout(tp=8))
    )
    assert (gate.verdict, gate.state) == ("warn", "inexact_verification")
    assert any("50" in way for way in gate.way_out)


@pytest.mark.parametrize(
    ("prompts", "equal", "verdict"), [(84, 84, "pass"), (50, 50, "pass"), (49, 49, "warn"), (84, 83, "warn")]
)
def test_enough_equal_greedy_answers_lift_the_warning(prompts: int, equal: int, verdict: str) -> None:
    hybrid = ModelConfig({**kimi_config().data, "layer_types": ["linear_attention"] * 45 + ["full_attention"] * 16})
    seen = Exactness(run="run-tree", baseline="run-ar", prompts=prompts, equal=equal)
    gate = drafter_gate(
        Pair(
            algorithm="NGRAM", target_id="x/y", target=hybrid, engine=recorded_engine("0.5.23"), layout=Layout(tp=8),
            key="5f0c", exactness=seen,
        )
    )  # fmt: skip
    assert gate.verdict == verdict
    assert f"{equal} of {prompts}" in gate.sentence
    assert gate.numbers["pair"] == "5f0c"


def test_recurrent_layers_that_the_file_does_not_count_are_flagged_for_a_tree_alone() -> None:
    target = ModelConfig({"model_type": "qwen3_next", "num_hidden_layers": 48})
    pairs = Pair(algorithm="NGRAM", target_id="x/y", target=target, engine=recorded_engine("0.5.23"), layout=Layout())
    assert drafter_gate(pairs).state == "inexact_verification"
    chain = Pair(algorithm="NEXTN", target_id="x/y", target=target, engine=recorded_engine("0.5.23"), layout=Layout())
    assert drafter_gate(chain).verdict == "pass"


# --- memory -----------------------------------------------------------------------------------------------------


# Estimates published with the facts of this project, ± 1 GiB: 8 × 96 GB.
@pytest.mark.parametrize(
    ("layout", "default", "smallest", "tokens_at"),
    [
        (Layout(tp=8), 0.758, 0.763, {0.85: 126_000, 0.90: 198_000, 0.94: 256_000}),
        (Layout(tp=8, ep=4), 0.758, 0.763, {0.90: 198_000}),
        (Layout(tp=8, dp=8), 0.586, 0.947, {0.94: 0}),
        (Layout(pp=8), 0.777, 0.800, {0.90: 1_105_000}),
    ],
)
def test_the_flagship_on_eight_gpus(
    layout: Layout, default: float, smallest: float, tokens_at: dict[float, int]
) -> None:
    answer = kimi_fit(layout)
    assert answer.fraction == pytest.approx(default, abs=0.001)
    assert answer.smallest_working == pytest.approx(smallest, abs=0.001)
    assert memory_gate("k26", answer).verdict == "block"
    for fraction, tokens in tokens_at.items():
        assert kimi_fit(layout, fraction=fraction).tokens == pytest.approx(tokens, abs=1000)


def test_the_last_pipeline_stage_is_the_tightest() -> None:
    answer = kimi_fit(Layout(pp=8), fraction=0.9)
    assert answer.tightest_stage == 7
    held = [gpu.weights_bytes / GIB for gpu in answer.gpus]
    assert held[0] == pytest.approx(58.8, abs=0.1)
    assert held[-1] == pytest.approx(75.3, abs=0.1)


def test_a_drafter_costs_weights_and_tokens() -> None:
    with_draft, without = kimi_fit(Layout(tp=8), draft=True), kimi_fit(Layout(tp=8))
    assert with_draft.smallest_working == pytest.approx(0.772, abs=0.0015)
    assert with_draft.bytes_per_token > without.bytes_per_token


def test_foreign_memory_on_one_gpu_costs_all_of_them() -> None:
    alone, crowded = kimi_fit(Layout(tp=8), fraction=0.9), kimi_fit(Layout(tp=8), fraction=0.9, foreign=8 * GIB)
    assert crowded.tokens < alone.tokens
    assert crowded.gpus[7].foreign_bytes == 8 * GIB


@given(st.floats(0.77, 0.95), st.integers(0, 4))
def test_a_bars_parts_never_exceed_the_gpu(fraction: float, foreign_gib: int) -> None:
    answer = kimi_fit(Layout(tp=8), fraction=fraction, foreign=foreign_gib * GIB)
    assume(answer.kv_bytes > 0)
    for bar in answer.gpus:
        parts = bar.weights_bytes + bar.draft_bytes + bar.kv_bytes + bar.other_bytes
        assert parts + bar.reserved_bytes + bar.foreign_bytes <= bar.total_bytes + (101 << 20)


def test_memory_states() -> None:
    assert memory_gate("r", Unknown("no formula for x")).verdict == "unknown"
    fits = memory_gate("r", kimi_fit(Layout(tp=8), fraction=0.9))
    assert (fits.verdict, fits.state) == ("pass", "fits")
    assert "0.763" in fits.sentence
    assert "6.0 × 32k" in fits.sentence
    assert len(fits.numbers["per_gpu"]) == 8
    tight = memory_gate("r", kimi_fit(Layout(tp=8), fraction=0.9), context=262_144)
    assert (tight.verdict, tight.state, exit_code(tight), exit_code(tight, ["tight"])) == ("warn", "tight", 4, 0)
    barely = memory_gate("r", kimi_fit(Layout(tp=8), fraction=0.765))
    assert barely.state == "tight"


def test_recurrent_states_take_their_share_of_what_the_weights_leave() -> None:
    """SGLang gives 0.9 bytes to states for each byte of KV cache, unless the recipe sets their number."""
    config = ModelConfig({**kimi_config().data["text_config"], "model_type": "qwen3", "head_dim": 128})
    shape, weights = geometry(config), weights_from_config(kimi_config())
    assert known(shape)
    assert known(weights)
    room = GpuRoom(uuid="GPU-0", index=0, total_bytes=141 * GIB, reserved_bytes=0, foreign_bytes=0)
    request = FitRequest(
        weights=weights, shape=shape, layout=Layout(tp=8), serving=Serving(tp=8), gpus=(room,) * 8, element=2,
        fraction=0.9,
    )  # fmt: skip
    plain = fit(request)
    hybrid = fit(replace(request, shape=replace(shape, state=True)))
    assert hybrid.kv_bytes == pytest.approx(plain.kv_bytes / 1.9)
    assert hybrid.state_bytes == pytest.approx(0.9 * hybrid.kv_bytes, rel=1e-6)
    assert hybrid.tokens == pytest.approx(plain.tokens / 1.9, abs=1)
    assert hybrid.smallest_working == plain.smallest_working
    assert "47%" in dict(hybrid.sources)["states"]
    for before, after in zip(plain.gpus, hybrid.gpus, strict=True):
        moved = after.other_bytes - before.other_bytes
        assert moved == pytest.approx(before.kv_bytes - after.kv_bytes, abs=2)
    fixed = fit(replace(request, shape=replace(shape, state=True), state_ratio=None))
    assert fixed.tokens == plain.tokens
    assert any("states" in caveat for caveat in fixed.caveats)


def test_measured_weights_of_a_real_start_give_the_logged_pool() -> None:
    """ar_tp1 on an H200: 2.70 GB of weights, automatic fraction, 1,150,797 tokens of 28 × 8 × 128 × 2 × bf16."""
    shape = geometry(
        ModelConfig(
            {
                "model_type": "qwen3", "num_hidden_layers": 28, "num_attention_heads": 16,
                "num_key_value_heads": 8, "head_dim": 128, "hidden_size": 2048,
            }
        )
    )  # fmt: skip
    weights = weights_from_config(
        ModelConfig(
            {
                "model_type": "qwen3", "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
                "head_dim": 128, "hidden_size": 2048, "intermediate_size": 6144, "vocab_size": 512,
            }
        )
    )  # fmt: skip
    assert known(shape)
    assert known(weights)
    assert weights.total_bytes / GIB == pytest.approx(2.70, abs=0.1)
    room = GpuRoom(uuid="GPU-0", index=0, total_bytes=143771 << 20, reserved_bytes=644_939_776, foreign_bytes=0)
    answer = fit(FitRequest(weights=weights, shape=shape, layout=Layout(), serving=Serving(), gpus=(room,), element=2))
    assert answer.fraction == pytest.approx(0.903, abs=0.0005)
    assert answer.tokens == pytest.approx(1_150_797, rel=0.005)


# --- ports ------------------------------------------------------------------------------------------------------


def test_attention_data_parallelism_needs_more_ports() -> None:
    assert wanted_ports(30000, {"tp-size": 8}) == {30000: "HTTP"}
    wide = wanted_ports(30000, {"attn-dp-size": 8, "nccl-port": 41000})
    assert {30000, 30013, 30233, 30238, 41000} <= set(wide)
    assert 30500 in wanted_ports(30000, {"dist-init-addr": "127.0.0.1:30500"})


def test_a_taken_port_names_its_holder() -> None:
    taken = PortAnswer(port=30000, free=False, holder=clean("pid 4711 (python)"))
    gate = ports_gate({30000: "HTTP"}, (taken,))
    assert (gate.verdict, exit_code(gate)) == ("block", 4)
    assert "pid 4711 (python)" in gate.sentence
    assert ports_gate({30000: "HTTP"}, Unknown("the agent is gone")).verdict == "unknown"


# --- GPUs -------------------------------------------------------------------------------------------------------


def gpu(index: int, used: int | Unknown = 0, *processes: GpuProcess, state: str = "ok") -> GpuView:
    return GpuView(
        index=index,
        uuid=clean(f"GPU-{index}"),
        name=clean("RTX"),
        state=state,
        total_bytes=96 * GIB,
        reserved_bytes=0,
        used_bytes=used,
        processes=processes,
    )


def process(pid: int, amount: int) -> GpuProcess:
    return GpuProcess(pid=pid, user=clean("bob"), command=clean("train.py"), memory_bytes=amount)


def test_who_holds_a_gpu_and_how_much() -> None:
    gate = gpus_gate((gpu(0), gpu(1, 5 * GIB, process(77, 5 * GIB))), needed=2)
    assert (gate.verdict, gate.state) == ("warn", "in_use")
    assert "bob: train.py (pid 77, 5.0 GiB)" in gate.sentence


def test_unbalanced_gpus_block_and_our_own_server_does_not_count() -> None:
    crowded = (gpu(0), gpu(1, 20 * GIB, process(77, 20 * GIB)))
    assert gpus_gate(crowded, needed=2).state == "unbalanced"
    assert gpus_gate(crowded, needed=2, own_pids=frozenset({77})).verdict == "pass"


def test_gpus_that_are_lost_or_too_few_or_unread() -> None:
    assert gpus_gate((gpu(0), gpu(1, state="lost")), needed=2).verdict == "block"
    assert gpus_gate((gpu(0),), needed=2).state == "count"
    assert gpus_gate((gpu(0, Unknown("hung")),), needed=1).verdict == "unknown"
    assert gpus_gate(Unknown("no NVML"), needed=1).verdict == "unknown"


def test_the_first_free_gpus_are_chosen_unless_the_recipe_names_them() -> None:
    box = (gpu(0, 9 * GIB), gpu(1), gpu(2))
    chosen = choose(box, None, 2)
    assert known(chosen)
    assert [each.index for each in chosen] == [1, 2]
    named = choose(box, ["GPU-2", 0], 2)
    assert known(named)
    assert [each.index for each in named] == [2, 0]
    for missing in (choose(box, [9], 1), choose(box, None, 4)):
        assert not known(missing)
        assert (gpus_gate(missing, needed=4).verdict, gpus_gate(missing, needed=4).state) == ("block", "absent")


# --- host -------------------------------------------------------------------------------------------------------


def host(version: str = "0.5.23", gpus: int = 8, env: dict[str, str] | None = None, **changes: Any) -> Gate:
    torch = {"version": "2.14.1+cu130", "cuda": "13.0", "arches": ["sm_90", "sm_100", "sm_120"]}
    values: dict[str, Any] = {
        "driver": "580.159.04",
        "capability": ((12, 0),) * gpus,
        "nvlink": True,
        "level": 10,
        "iommu": False,
        "shm_bytes": 64 * GIB,
    }
    view = HostView(**(values | changes))
    return host_gate("box", view, recorded_engine(version, torch=torch, kernels=["sm100", "sm90"]), gpus, env or {})


@pytest.mark.parametrize(
    ("changes", "rule", "verdict"),
    [
        ({}, "ok", "pass"),
        ({"driver": "570.86"}, "driver", "block"),
        ({"driver": Unknown("no NVML")}, "driver", "unknown"),
        ({"capability": ((8, 9),) * 8}, "kernel_image", "block"),
        ({"shm_bytes": 64 << 20}, "shm", "block"),
        ({"nvlink": False, "level": 40, "iommu": True}, "pcie", "warn"),
    ],
)
def test_host_rules(changes: dict[str, Any], rule: str, verdict: str) -> None:
    gate = host(**changes)
    assert (gate.state, gate.verdict) == (rule, verdict), gate.sentence


def test_the_pcie_hang_has_its_way_out_and_is_silent_once_taken() -> None:
    gate = host(nvlink=False, level=40, iommu=True)
    assert any("NCCL_P2P_DISABLE" in way for way in gate.way_out)
    assert host(nvlink=False, level=40, env={"NCCL_P2P_DISABLE": "1"}).verdict == "pass"
    assert host(gpus=1, nvlink=None).verdict == "pass"


# --- the plan ---------------------------------------------------------------------------------------------------
