"""SGLang's own benchmark: its command line, and its result beside our run."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from console.bench.comparable import refusals
from console.bench.presets import PRESETS
from console.bench.store import Manifest
from console.events.serve import Server
from console.values import CleanText, Unknown
from console.workers.bench import Subject
from console.workers.second_opinion import MODULES, as_run, job_spec

CAPTURE = Path(__file__).parents[1] / "captures" / "bench-tools" / "sglang_0.5.23_python_native_spec.jsonl"
NONE = CleanText("")
PLACE = {"PYTHONPATH": "/srv/site"}  # where the recipe's SGLang lies


def a_subject() -> Subject:
    server = Server(
        id=CleanText("s"), pid=1, start=1, started_s=0.0, boot_id=NONE, owner="ours", job=NONE, user=NONE, argv=(),
        cwd=NONE, unit=NONE, unit_scope=NONE, container=NONE, log_path=NONE, processes=(), address=NONE, port=30000,
        listening=True,
    )  # fmt: skip
    info = {"tokenizer_path": "/srv/models/k26"}
    return Subject(server=server, info=info, config=Unknown("x"), commit="", gpus=(), recipe="r", model="k26")


def test_the_same_question_is_asked() -> None:
    spec = job_spec(a_subject(), PRESETS["sweep"], 64, MODULES[0], "/srv/venv/bin/python", "sk-mine", PLACE)
    words = {name: value for name, value in itertools.pairwise(spec.argv) if name.startswith("--")}
    assert spec.argv[:3] == ("/srv/venv/bin/python", "-m", "sglang.benchmark.serving")
    assert words["--random-output-len"] == "256"
    assert (words["--max-concurrency"], words["--num-prompts"]) == ("64", "256")
    assert words["--tokenizer"] == "/srv/models/k26"
    assert "--tokenize-prompt" in spec.argv  # 256 ids decoded to text were 509 tokens on the server
    assert "sk-mine" not in " ".join(spec.argv)
    assert spec.env == {**PLACE, "HF_HUB_OFFLINE": "1"}
    assert spec.secret_env == {"OPENAI_API_KEY": "sk-mine"}


def test_its_users_do_not_begin_together() -> None:
    spec = job_spec(a_subject(), PRESETS["sweep"], 8, MODULES[0], "python3", None, {}, 300, 24.0)
    assert spec.argv[spec.argv.index("--request-rate") + 1] == "30"
    assert spec.argv[spec.argv.index("--max-concurrency") + 1] == "8"


def test_it_runs_at_least_as_long_as_ours() -> None:
    """Its rate holds its ramp and its drain: with 256 requests an H200 told 10,477 tok/s instead of 15,523."""
    spec = job_spec(a_subject(), PRESETS["sweep"], 64, MODULES[0], "python3", None, {}, requests=1439)
    assert spec.argv[spec.argv.index("--num-prompts") + 1] == "2878"


@pytest.mark.parametrize(("ours", "alike"), [("input_ids", True), ("chat", False)])
def test_its_run_is_named_after_ours_and_compared_where_the_same_was_asked(ours: str, alike: bool) -> None:
    setup = {
        "model_sha": "a1", "dataset_sha": "d1", "input_spec": "ids:256", "output_spec": "fixed:128", "ignore_eos": True,
        "sampling": "temperature=0", "cache_preset": "cold", "load_mode": "closed", "prompt_format": ours,
    }  # fmt: skip
    told = Manifest(id="ours", created="2026-11-30T00:00:00Z", setup=setup)
    manifest, points = as_run(CAPTURE.read_bytes(), told)
    assert manifest.id == "ours-sglang"
    assert manifest.source == "sglang"
    assert manifest.setup["model_sha"] == "a1"
    assert ("prompt_format" not in refusals(setup, manifest.setup)) is alike
    assert ("input_spec" not in refusals(setup, manifest.setup)) is alike
    assert [point.concurrency for point in points] == [4]
    assert manifest.remarks[-1] == "C=4: it kept 3.90 users busy, by its own count"
