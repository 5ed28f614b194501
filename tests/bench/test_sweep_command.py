"""`gpudeck sweep local`: recipes, data sets and a matrix on the SGLang stand-in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from console.bench.store import RunStore
from tests.bench.conftest import ServedBox
from tests.support import served

SWEEP = """
[sweep]
recipes = ["slow", "fast"]
baseline = "slow"
concurrency = [1, 2]
preset = "smoke"
repeats = 1
"""
QUICK = ("--window", "1", "--isl", "16", "--osl", "16")


def runs_of(box: ServedBox) -> RunStore:
    return RunStore(box.gpudeck.home / "data" / "gpudeck" / "runs")


def a_sweep(box: ServedBox) -> Path:
    box.recipe("slow", SGLANG_STANDIN_SPEED="4")
    box.recipe("fast", SGLANG_STANDIN_SPEED="16")
    file = box.directory / "night.toml"
    file.write_text(SWEEP)
    return file


def test_gates_order_and_price_come_first(served_box: ServedBox) -> None:
    file = a_sweep(served_box)
    file.write_text(SWEEP + "[sweep.matrix]\nspeculative-num-draft-tokens = [4, 8]\n")
    done = served_box.gpudeck.run("sweep", "local", str(file), "--dry-run", "--json", STANDIN_KEY="sk-test")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert [unit["recipe"] for unit in told["units"]] == ["slow", "fast"]
    assert told["dry_run"]
    assert told["likely_s"] > 0
    assert runs_of(served_box).runs() == []


@pytest.mark.slow
def test_data_sets_recipes_of_the_file_and_a_recipe_that_does_not_start(served_box: ServedBox) -> None:
    """Two data sets on one server; the recipe that crashes is left out, and the server before it comes back."""
    served_box.recipe("slow", SGLANG_STANDIN_SPEED="16")
    file, store = served_box.directory / "night.toml", runs_of(served_box)
    file.write_text(
        SWEEP.replace('"fast"', '"broken"').replace("[1, 2]", "[1]\ndatasets = ['own:code', 'own:chat']")
        + served.recipe("broken", served_box.python, served_box.model, served_box.port, SGLANG_STANDIN_FAIL="kv_oom")
    )
    done = served_box.gpudeck.run("sweep", "local", str(file), *QUICK, "--json", STANDIN_KEY="sk-test")
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout.splitlines()[0])
    assert (told["failed"], told["left"]) == (["broken"], 2), done.stderr
    assert done.stderr.count("Stopping") == 1
    runs = {run.manifest.load["dataset"]: run for run in store.runs()}
    assert sorted(runs) == ["own:chat", "own:code"]
    assert len({run.manifest.setup["dataset_sha"] for run in runs.values()}) == 2
    assert all(len(run.points) == 1 and run.manifest.recipe == "slow" for run in runs.values())
    listed = served_box.gpudeck.json("serve", "local", "list", STANDIN_KEY="sk-test")["servers"]
    assert sorted(one["phase"] for one in listed if one["port"] == served_box.port) == ["crashed", "ready"]
    text = (exported(served_box, "night") / "report.md").read_text()
    assert "slow own:code" in text
    assert "the data set differs" in text


def exported(box: ServedBox, name: str) -> Path:
    out = box.directory / "report"
    made = box.gpudeck.run("runs", "export", name, "--format", "md", "--out", str(out))
    assert made.returncode == 0, made.stderr
    return out


@pytest.mark.slow
def test_a_detached_sweep_goes_on_step_by_step(served_box: ServedBox) -> None:
    """Each call starts what comes next and leaves it; the measurement is the box's own."""
    served_box.recipe("slow", SGLANG_STANDIN_SPEED="16")
    file = served_box.directory / "night.toml"
    file.write_text(SWEEP.replace(', "fast"', "").replace("[1, 2]", "[1]"))

    def step() -> dict[str, Any]:
        done = served_box.gpudeck.run("sweep", "local", str(file), *QUICK, "--detach", "--json", STANDIN_KEY="sk-test")
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    first = step()
    assert (first["step"], first["job"][:6]) == ("serve", "serve-")
    assert served_box.gpudeck.run("wait", "local", "ready", "--timeout", "60", STANDIN_KEY="sk-test").returncode == 0
    second = step()
    assert second["step"] == "bench"
    assert step() == second
    assert served_box.gpudeck.run("wait", "local", "job", second["job"], "--timeout", "60").returncode == 0
    assert step()["left"] == 0
    assert [len(run.points) for run in runs_of(served_box).runs()] == [1]


@pytest.mark.slow
def test_a_budget_measures_what_fits(served_box: ServedBox) -> None:
    file = a_sweep(served_box)
    words = ("sweep", "local", str(file), *QUICK, "--dry-run")
    told = served_box.gpudeck.json(*words, "--budget", "700", STANDIN_KEY="sk-test")
    assert [(unit["recipe"], unit["points"]) for unit in told["units"]] == [("slow", ["c0001-r0", "c0002-r0"])]
    assert told["left"] == 4
    done = served_box.gpudeck.run(*words, "--budget", "60", STANDIN_KEY="sk-test")
    assert done.returncode == 0
    assert "does not fit into 1 min" in done.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (SWEEP.replace('"fast"]', '"fats"]'), "fats"),
        (SWEEP.replace('preset = "smoke"', 'preset = "dance"'), "dance"),
        (SWEEP + "datasets = ['own:dance']\n", "dance"),
        (SWEEP + "datasets = ['/nowhere.jsonl']\n", "/nowhere.jsonl"),
        ("[other]\n", "sweep"),
    ],
)
def test_a_bad_file_is_a_usage_error(served_box: ServedBox, text: str, sentence: str) -> None:
    file = a_sweep(served_box)
    file.write_text(text)
    done = served_box.gpudeck.run("sweep", "local", str(file))
    assert done.returncode == 2
    assert sentence in done.stderr


# The benchmark of an older SGLang, as far as its output file goes.
BENCHMARK = """
import pathlib, sys
words = sys.argv
row = pathlib.Path({capture!r}).read_text()
users = words[words.index("--max-concurrency") + 1]
with open(words[words.index("--output-file") + 1], "a") as file:
    file.write(row.replace('"max_concurrency": 64', f'"max_concurrency": {{users}}'))
"""


@pytest.mark.slow
def test_a_second_opinion_lies_beside_our_run(served_box: ServedBox) -> None:
    served_box.recipe("fast", SGLANG_STANDIN_SPEED="16")
    capture = Path(__file__).parents[1] / "captures" / "bench-tools" / "sglang_0.5.23_python_summary.jsonl"
    site = next((served_box.python.parents[1] / "lib").glob("python*")) / "site-packages" / "sglang"
    (site / "bench_serving.py").write_text(BENCHMARK.format(capture=str(capture)))
    started = served_box.gpudeck.run("serve", "local", "start", "fast", STANDIN_KEY="sk-test")
    assert started.returncode == 0, started.stderr
    done = served_box.gpudeck.run(
        "bench", "local", "--server", str(served_box.port), "--concurrency", "1,2", *QUICK, "--second-opinion",
        STANDIN_KEY="sk-test",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ours, theirs = sorted(runs_of(served_box).runs(), key=lambda run: run.manifest.source)
    assert theirs.id == f"{ours.id}-sglang"
    assert [point.concurrency for point in theirs.points] == [1, 2]
    assert all(point.output_tok_s == pytest.approx(3093.5, abs=0.1) for point in theirs.points)
    assert done.stdout.count("3093.5") == 2  # beside ours; random weights and the stand-in's speed give no verdict
    assert done.stdout.count("no verdict") == 2
