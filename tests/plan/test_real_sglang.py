"""The real SGLang 0.5.23 of a machine without a GPU: introspection, and its own validation of the shipped recipes.

GPUDECK_REAL_SGLANG names its directory, with `venv/bin/python` and `lib/libcuda.so.1` (a stub) in it.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from console.config.recipes import load_recipes
from console.gates.arguments import check_flags
from console.models.budget import Serving, Vision, static_plan
from console.models.engine import Engine, parse_engine
from console.models.launch import launch
from console.remote.bundle import STAGE0, bundle, frame
from console.values import known
from tests.support.engines import kimi_config, kimi_drafter, recorded_answer
from tests.support.requirements import need

pytestmark = pytest.mark.slow

GPU = {"count": 8, "name": "NVIDIA RTX PRO 6000", "memory_mib": 97887, "capability": [12, 0]}
TARGET, DRAFT = "/m/Kimi-K2.6", "/m/Kimi-K2.6-DFlash"
BOOK = load_recipes(cwd=Path("/nonexistent"), env={"HOME": "/nonexistent"})
# What the vectors leave out of the text model, as its repository has it.
REST = {"max_position_embeddings": 262144, "rope_theta": 50000.0, "num_experts_per_tok": 8, "hidden_act": "silu"}


@pytest.fixture(scope="module")
def root() -> Path:
    named = os.environ.get("GPUDECK_REAL_SGLANG", "")
    need("sglang", bool(named), "GPUDECK_REAL_SGLANG names the directory of a real SGLang 0.5.23")
    return Path(named)


def ask(root: Path, **request: Any) -> dict[str, Any]:
    done = subprocess.run(
        [str(root / "venv/bin/python"), "-I", "-u", "-c", STAGE0],
        input=frame(bundle("console.payloads.introspect", request)),
        capture_output=True,
        timeout=240,
        env={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": str(root / "lib"), "HOME": os.environ.get("HOME", "/")},
    )
    assert done.returncode == 0, done.stderr.decode()
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def engine(root: Path) -> Engine:
    return parse_engine(ask(root, op="engine"))


def validate(root: Path, name: str, **more: Any) -> dict[str, Any]:
    recipe = BOOK.get(name)
    plan = launch(
        python="python",
        model_path=TARGET,
        served_name=recipe.model,
        port=30000,
        args=recipe.args | more,
        env={},
        draft_path=DRAFT if recipe.draft else "",
    )
    config = dict(kimi_config().data)
    config["auto_map"] = {"AutoConfig": "configuration_kimi.Config"}
    config["text_config"] = config["text_config"] | REST
    configs = {TARGET: config, DRAFT: kimi_drafter().data}
    return ask(root, op="validate", argv=list(plan.argv[3:]), gpu=GPU, configs=configs)


def test_what_it_says_of_itself_is_what_was_recorded(engine: Engine) -> None:
    recorded = parse_engine(recorded_answer("0.5.23"))
    assert engine.problem == ""
    assert engine.version == recorded.version == "0.5.23"
    assert known(engine.flags)
    assert known(recorded.flags)
    assert engine.flags.keys() == recorded.flags.keys()
    assert engine.algorithms == recorded.algorithms
    assert engine.architectures == recorded.architectures
    assert engine.capture == recorded.capture


def test_every_shipped_recipe_uses_flags_that_it_knows(engine: Engine) -> None:
    for recipe in BOOK.recipes.values():
        assert [f for f in check_flags(recipe.args, engine) if f.verdict == "block"] == [], recipe.name


@pytest.mark.parametrize("name", ["k26-tp8", "k26-pp8", "k26-ep4-dflash", "k26-ep8-dflash-eager"])
def test_it_accepts_the_shipped_recipes_without_a_gpu(root: Path, name: str) -> None:
    answer = validate(root, name)
    assert answer["result"] == "accepted", answer
    if "dflash" in name:
        assert answer["resolved"]["speculative_num_draft_tokens"] == 8


def test_its_own_default_fraction_is_our_formulas(root: Path) -> None:
    answer = validate(root, "k26-tp8", **{"mem-fraction-static": False})
    ours = static_plan(97887, Serving(tp=8, mla=True, vision=Vision(27, 1152)))
    assert answer["resolved"]["mem_fraction_static"] == pytest.approx(ours.fraction, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        ("k26-ep4-dflash", {"tp": 1, "ep": 1, "pp": 8}, "pp_size == 1"),
        ("k26-tp8", {"tp": 8, "attn-dp-size": 3}, ""),
        ("k26-tp8-ddtree", {}, "DDTREE"),
        ("k26-tp8", {"cuda-graph-max-bs": 8}, "ambiguous option"),
    ],
)
def test_it_refuses_what_our_rules_refuse(root: Path, name: str, more: dict[str, Any], words: str) -> None:
    answer = validate(root, name, **more)
    assert answer["result"] == "refused", answer
    assert words in answer["message"]
