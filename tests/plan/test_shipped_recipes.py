"""Every shipped recipe on eight 96 GB GPUs joined by PCIe, under both recorded versions: verdict by verdict, as a table
that is kept (`GPUDECK_KEEP_FRAMES=1` keeps a new one, to be looked at)."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from console.config.recipes import load_recipes
from console.config.records import Recipe
from console.gates.arguments import Validation
from console.gates.assess import assess, findings_of, may_validate
from console.gates.gate import Gate
from console.gates.gpus import GpuView
from console.gates.host import HostView
from console.gates.inputs import Inputs, Repository
from console.gates.plan import combined
from console.models.config import ModelConfig
from console.models.weights import weights_from_listing
from console.values import clean, known
from tests.support.engines import VERSIONS, kimi_config, kimi_drafter, recorded_engine
from tests.support.frames import check_frame

TABLES = Path(__file__).parent / "frames"
BOOK = load_recipes(cwd=Path("/nonexistent"), env={"HOME": "/nonexistent"})
NAMES = [name for name in BOOK.recipes if not name.startswith("demo")]
TORCH = {"version": "2.11.0", "cuda": "13.0", "arches": ["sm_90", "sm_100", "sm_120"]}
KIMI_BYTES, KIMI_DRAFT_BYTES, QWEN3_8B_BYTES = 595_100_000_000, 6_900_000_000, 16_381_516_872
QWEN3_8B = ModelConfig(
    {
        "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 151936, "hidden_size": 4096,
        "intermediate_size": 12288, "num_hidden_layers": 36, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 128, "torch_dtype": "bfloat16", "tie_word_embeddings": False,
    }
)  # fmt: skip

GPUS = tuple(
    GpuView(
        index=index, uuid=clean(f"GPU-{index}"), name=clean("NVIDIA RTX PRO 6000"), state="ok",
        total_bytes=97887 << 20, reserved_bytes=624 << 20, used_bytes=0, processes=(),
    )
    for index in range(8)
)  # fmt: skip
PCIE = HostView(driver="580.95.05", capability=((12, 0),) * 8, nvlink=False, level=50, iommu=False, shm_bytes=500 << 30)


def listed(config: ModelConfig, total_bytes: int) -> Repository:
    return Repository(config=config, weights=weights_from_listing(config, total_bytes), total_bytes=total_bytes)


def inputs_of(recipe: Recipe, version: str) -> Inputs:
    kimi = "Kimi" in recipe.model
    inputs = Inputs(
        recipe=recipe,
        engine=recorded_engine(version, torch=TORCH),
        target=listed(kimi_config(), KIMI_BYTES) if kimi else listed(QWEN3_8B, QWEN3_8B_BYTES),
        draft=listed(kimi_drafter(), KIMI_DRAFT_BYTES) if recipe.draft else None,
        gpus=GPUS,
        host=PCIE,
        ports=(),
        concurrency=64,
    )
    return msgspec.structs.replace(inputs, gpus=GPUS[: inputs.gpus_needed])


def gates_of(name: str, version: str) -> tuple[Gate, ...]:
    inputs = inputs_of(BOOK.get(name), version)
    findings = findings_of(inputs)
    accepted = Validation(result="accepted", sentence="") if may_validate(findings) else None
    return assess(inputs, findings, accepted)


def line(name: str, version: str) -> str:
    gates = {gate.name: gate for gate in gates_of(name, version)}
    memory = gates["memory"]
    said = [f"{one} {gate.verdict} ({gate.state})" for one, gate in gates.items() if one in ("arguments", "drafter")]
    fit = f"memory {memory.verdict} from {memory.numbers['min_fraction']:.3f}, {memory.numbers['tokens']:>9,} tokens"
    return f"{name:<22}exit {combined(gates.values())}  {fit}  {'  '.join(said)}"


@pytest.mark.parametrize("version", VERSIONS)
def test_the_table_of_verdicts(version: str) -> None:
    rows = [line(name, version) for name in NAMES]
    check_frame(TABLES / f"shipped-{version}.txt", "\n".join(rows))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_shipped_recipe_starts_or_says_why_not(name: str, version: str) -> None:
    gates = gates_of(name, version)
    if "ddtree" in name:
        (blocking,) = [gate for gate in gates if gate.verdict in ("block", "unknown")]
        assert (blocking.name, blocking.state) == ("arguments", "algorithm")
        assert f"SGLang {version} has no algorithm DDTREE" in blocking.sentence
    else:
        assert combined(gates) == 0, [gate.sentence for gate in gates if gate.verdict != "pass"]
    memory = next(gate for gate in gates if gate.name == "memory")
    assert known(memory.numbers["tokens"])
    assert ("the box has 0.5.11" in memory.sentence) == (version != "0.5.23")
