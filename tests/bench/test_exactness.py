"""Greedy answers against the autoregressive baseline's: how they are asked, what is compared, what it lifts."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.bench.datasets import DatasetError, dataset
from console.bench.points import Point
from console.bench.presets import EXACT, PRESETS, fitting, setup
from console.bench.store import Manifest, RunStore
from console.config.exactness import EXACT_PROMPTS, exactness_of
from console.events.bench import GreedyCompared
from console.values import CleanText, Unknown, known
from console.workers.exactness import compare_answers
from tests.support import load_job
from tests.support.mock_sglang import Behaviour, MockSGLang

JOB, PAIR = CleanText("bench-1"), "5f0c"
OWN = dataset("own", 0, 0)


# --- asking -----------------------------------------------------------------------------------------------------


async def test_every_prompt_is_asked_once_whole_one_at_a_time_and_as_it_is(tmp_path: Path) -> None:
    items = [{"text": f"prompt {n}", "category": "code", "max_tokens": 0} for n in range(7)]
    texts = {"kind": "texts", "seed": 0, "items": items}
    async with MockSGLang(Behaviour(first_s=0.0, gap_s=0.001)) as server:
        settings = load_job.config(server.port, dataset=texts, once=True, ignore_eos=False, window_max_s=20, osl=5)
        settings["points"] = [{"name": "c0001-r0", "concurrency": 1, "repeat": 0}]
        assert await load_job.run(tmp_path, settings) == (0, "")
    assert sorted(one["text"] for one in server.requests) == [item["text"] for item in items]
    assert {one["sampling_params"]["max_new_tokens"] for one in server.requests} == {5}
    assert {one["sampling_params"]["temperature"] for one in server.requests} == {0}
    assert server.peak == 1
    result, rows = load_job.result(tmp_path, "c0001-r0")
    assert (result["stationary"], result["aborted"]) == (True, False)
    assert [row["i"] for row in rows] == list(range(1, 8))
    whole = hashlib.sha256(('the "completion_tokens":99 ' * 3).encode()).hexdigest()
    assert {row["said"] for row in rows} == {whole}


@pytest.mark.parametrize("name", ["stream_output", "incremental_streaming_output"])
async def test_answers_that_come_in_pieces_are_not_taken_for_whole_ones(tmp_path: Path, name: str) -> None:
    async with MockSGLang(Behaviour(info={name: True})) as server:
        settings = load_job.config(server.port, once=True, dataset={"kind": "texts", "items": [{"text": "x"}]})
        rc, _ = await load_job.run(tmp_path, settings)
    assert rc == 1
    assert "pieces" in load_job.progress(tmp_path, "point")[0]["error"]
    assert server.requests == []


def test_the_preset_takes_prompts_of_their_own_alone() -> None:
    assert len(OWN.prompts) >= EXACT_PROMPTS
    assert fitting(PRESETS[EXACT], OWN) is OWN
    with pytest.raises(DatasetError, match="own"):
        fitting(PRESETS[EXACT], dataset("random-ids", 8, 512))
    with pytest.raises(DatasetError, match="generate"):
        fitting(msgspec.structs.replace(PRESETS[EXACT], backend="chat"), OWN)


# --- comparing --------------------------------------------------------------------------------------------------


def stored(store: RunStore, name: str, said: list[str | None], **changes: Any) -> str:
    """A run of answers; None: that request failed."""
    told: dict[str, Any] = {
        "id": name,
        "created": f"2026-11-30T00:00:{len(store.runs()):02}Z",
        "host": "ct200",
        "recipe": name,
        "preset": EXACT,
        "setup": {"model_sha": "abc", **setup(PRESETS[EXACT], OWN)},
        "treatment": {"version": "0.5.23"},
        **changes,
    }
    store.create(Manifest(**told))
    point = Point(1, 0, 1.0, len(said), 0, 100.0, name="c0001-r0")
    store.add_point(name, point)
    rows = [
        {"i": number, "said": text, "error": "" if text else "connection_lost", "cut": False}
        for number, text in enumerate(said, 1)
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    store.add_file(name, "c0001-r0.ndjson.gz", gzip.compress(lines.encode()))
    return name


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return RunStore(tmp_path / "runs")


ANSWERS: list[str | None] = [f"answer {n}" for n in range(60)]
SPEC: dict[str, Any] = {"drafter": True, "pair": PAIR}


def only(facts: list[GreedyCompared]) -> GreedyCompared:
    assert len(facts) == 1
    return facts[0]


def test_equal_answers_lift_the_flag_of_exactly_this_pair_on_this_box(store: RunStore) -> None:
    stored(store, "ar", ANSWERS)
    seen = only(compare_answers(store, stored(store, "tree", ANSWERS, **SPEC), JOB))
    assert (seen.run, seen.baseline, seen.prompts, seen.different) == ("tree", "ar", 60, ())
    kept = exactness_of("ct200", PAIR)
    assert kept is not None
    assert kept.exact
    assert (kept.run, kept.baseline) == ("tree", "ar")
    assert exactness_of("ct201", PAIR) is None
    assert exactness_of("ct200", "other") is None


def test_a_baseline_that_comes_later_is_compared_with_what_is_there(store: RunStore) -> None:
    lonely = only(compare_answers(store, stored(store, "tree", ANSWERS, **SPEC), JOB))
    assert not known(lonely.baseline)
    assert exactness_of("ct200", PAIR) is None
    stored(store, "tree-other", [*ANSWERS[:-1], "else"], drafter=True, pair="other")
    facts = compare_answers(store, stored(store, "ar", ANSWERS), JOB)
    assert {fact.run: fact.different for fact in facts} == {"tree": (), "tree-other": (60,)}
    kept, other = exactness_of("ct200", PAIR), exactness_of("ct200", "other")
    assert kept is not None
    assert other is not None
    assert (kept.exact, other.exact) == (True, False)


def test_one_different_answer_keeps_the_flag_and_takes_it_back(store: RunStore) -> None:
    stored(store, "ar", ANSWERS)
    compare_answers(store, stored(store, "good", ANSWERS, **SPEC), JOB)
    seen = only(compare_answers(store, stored(store, "bad", ["x", *ANSWERS[1:]], **SPEC), JOB))
    assert seen.different == (1,)
    kept = exactness_of("ct200", PAIR)
    assert kept is not None
    assert not kept.exact


@pytest.mark.parametrize(("failed", "exact"), [(60 - EXACT_PROMPTS, True), (61 - EXACT_PROMPTS, False)])
def test_fewer_than_enough_answers_prove_nothing(store: RunStore, failed: int, exact: bool) -> None:
    stored(store, "ar", ANSWERS)
    answers: list[str | None] = [*[None] * failed, *ANSWERS[failed:]]
    seen = only(compare_answers(store, stored(store, "tree", answers, **SPEC), JOB))
    assert seen.prompts == 60 - failed
    kept = exactness_of("ct200", PAIR)
    assert kept is not None
    assert kept.exact is exact


@pytest.mark.parametrize(
    "changes",
    [
        {"host": "ct201"},
        {"treatment": {"version": "0.5.11"}},
        {"treatment": {}},
        {"setup": {"model_sha": "def", **setup(PRESETS[EXACT], OWN)}},
        {"setup": {"model_sha": None, **setup(PRESETS[EXACT], OWN)}},
        {"setup": {"model_sha": "abc", **setup(PRESETS[EXACT], dataset("own:code", 0, 0))}},
        {"setup": {"model_sha": "abc", **setup(PRESETS["accept"], OWN)}},
        {"drafter": True},
    ],
    ids=["box", "version", "no-version", "revision", "no-revision", "prompts", "preset", "no-baseline"],
)
def test_a_run_of_something_else_is_no_baseline(store: RunStore, changes: dict[str, Any]) -> None:
    stored(store, "ar", ANSWERS, **changes)
    seen = only(compare_answers(store, stored(store, "tree", ANSWERS, **SPEC), JOB))
    assert isinstance(seen.baseline, Unknown)
    assert exactness_of("ct200", PAIR) is None


def test_a_server_that_no_plan_started_is_compared_and_lifts_nothing(store: RunStore) -> None:
    stored(store, "ar", ANSWERS)
    seen = only(compare_answers(store, stored(store, "tree", ANSWERS, drafter=True), JOB))
    assert (seen.prompts, seen.different, seen.pair) == (60, (), "")
    assert exactness_of("ct200", "") is None


def test_another_preset_and_damaged_files_compare_nothing(store: RunStore) -> None:
    stored(store, "ar", ANSWERS)
    plain = stored(store, "sweep", ANSWERS, setup={"load_mode": "closed"}, **SPEC)
    assert compare_answers(store, plain, JOB) == []
    (store.root / "ar" / "events" / "c0001-r0.ndjson.gz").write_bytes(b"torn")
    seen = only(compare_answers(store, stored(store, "tree", ANSWERS, **SPEC), JOB))
    assert seen.prompts == 0


# --- from the plan to the flag ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_flag_of_a_tree_over_recurrent_layers_is_lifted_by_the_comparison(served_box: Any) -> None:
    """Autoregressive first, then NGRAM in its place: warned, flagged, compared, and then neither."""
    box, gpudeck = served_box, served_box.gpudeck
    config = json.loads((box.model / "config.json").read_text())
    layers = ["linear_attention", "full_attention"] * 2
    (box.model / "config.json").write_text(json.dumps({**config, "layer_types": layers}))
    box.recipe("ar", SGLANG_STANDIN_SPEED="40")
    with (box.directory / "gpudeck.toml").open("a") as file:
        file.write('[recipes.tree]\nextends = "ar"\nargs = { speculative-algorithm = "NGRAM" }\n')
        file.write('[recipes.wider]\nextends = "tree"\nargs = { speculative-num-draft-tokens = 24 }\n')

    def ran(*words: str) -> Any:
        done = gpudeck.run(*words, "--json", STANDIN_KEY="sk-x")
        assert done.returncode == 0, (words, done.stderr, done.stdout)
        return done

    def drafter(recipe: str) -> dict[str, Any]:
        gates = json.loads(ran("preflight", "local", recipe).stdout)["gates"]
        return next(gate for gate in gates if gate["name"] == "drafter")

    ran("serve", "local", "start", "ar")
    first = ran("bench", "local", "--preset", "exact", "--osl", "8")
    assert json.loads(first.stdout)["compared"] == []
    assert "kept as the autoregressive baseline" in first.stderr
    ran("serve", "local", "stop")
    assert drafter("tree")["state"] == "inexact_verification"
    ran("serve", "local", "start", "tree")
    second = ran("bench", "local", "--preset", "exact", "--osl", "8")
    assert "inexact_verification" in json.loads(second.stdout)["points"][0]["flags"]
    seen = json.loads(second.stdout)["compared"][0]
    assert (seen["baseline"], seen["exact"]) == (json.loads(first.stdout)["id"], True)
    assert seen["equal"] == seen["prompts"] >= EXACT_PROMPTS
    assert "is lifted" in second.stderr
    again = ran("bench", "local", "--window", "1", "--concurrency", "2", "--dataset", "own", "--osl", "8")
    assert "inexact_verification" not in json.loads(again.stdout)["points"][0]["flags"]
    ran("serve", "local", "stop")
    lifted = drafter("tree")
    assert lifted["verdict"] == "pass"
    assert seen["run"] in lifted["sentence"]
    assert drafter("wider")["state"] == "inexact_verification"
