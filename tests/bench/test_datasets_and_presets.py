"""What is asked, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.bench import datasets, presets
from console.bench.datasets import CATEGORIES, DatasetError, dataset, own_prompts
from console.bench.flags import MAX_CALIBRATED_SHARE
from console.payloads.load.prompts import Prompts

OVERLAP = 40
CHARS_PER_TOKEN = 4.4


def test_own_prompts_are_many_long_enough_and_share_nothing() -> None:
    owner: dict[str, int] = {}
    texts = [prompt.text for category in CATEGORIES for prompt in own_prompts(category)]
    for category in CATEGORIES:
        assert len(own_prompts(category)) >= 20
    for number, text in enumerate(texts):
        assert 100 <= len(text) / CHARS_PER_TOKEN <= 800
        for start in range(len(text) - OVERLAP + 1):
            piece = text[start : start + OVERLAP].lower()
            assert owner.setdefault(piece, number) == number, piece


def test_a_changed_prompt_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(datasets.PINNED, "code", "0" * 64)
    with pytest.raises(DatasetError, match="the prompts of code were changed"):
        own_prompts("code")


def test_the_hash_is_the_question() -> None:
    same, other = dataset("random-ids", 64, 512, 1), dataset("random-ids", 64, 512, 2)
    assert same.sha256 == dataset("random-ids", 64, 512, 1).sha256
    assert len({same.sha256, other.sha256, dataset("synthetic", 64, 0).sha256, dataset("own", 1, 1).sha256}) == 4
    assert dataset("own:code", 0, 0).sha256 != dataset("own", 0, 0).sha256


def test_unusable_data_sets_name_their_place(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="vocabulary"):
        dataset("random-ids", 10, 0)
    with pytest.raises(DatasetError, match="no category 'poems'"):
        dataset("own:poems", 0, 0)
    with pytest.raises(DatasetError, match="there is no file"):
        dataset(str(tmp_path / "none.jsonl"), 0, 0)
    file = tmp_path / "mine.jsonl"
    file.write_text('{"text": "a"}\n{"answer": 3}\n')
    with pytest.raises(DatasetError, match=r"mine\.jsonl:2 is no prompt"):
        dataset(str(file), 0, 0)


def test_a_users_file_in_its_three_shapes(tmp_path: Path) -> None:
    rows = [
        {"text": "one", "category": "x", "max_tokens": 7},
        {"prompt": "two"},
        {"messages": [{"role": "user", "content": "old"}, {"role": "user", "content": "three"}]},
    ]
    file = tmp_path / "mine.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)) + "\n")
    found = dataset(str(file), 0, 0)
    assert [p.text for p in found.prompts] == ["one", "two", "three"]
    assert (found.prompts[0].category, found.prompts[0].max_tokens) == ("x", 7)


def test_cold_prompts_differ_at_once_and_warm_ones_come_again() -> None:
    for kind in ({"kind": "ids", "isl": 20, "vocabulary": 99}, {"kind": "words", "isl": 5}):
        cold, warm = Prompts(kind, "n", True), Prompts(kind, "n", False)
        heads = [str(cold.next()[0])[:18] for _ in range(50)]
        assert len(set(heads)) == 50
        assert len({str(warm.next()[0]) for _ in range(50)}) == 16


@pytest.mark.parametrize("preset", presets.PRESETS.values(), ids=str)
def test_the_estimate_covers_every_planned_point(preset: presets.Preset) -> None:
    points, price = presets.planned(preset), presets.estimate(preset)
    names = [point.name for point in points]
    assert len(set(names)) == len(names) == price.points
    assert price.likely_s <= price.longest_s
    data = dataset(preset.dataset, preset.isl, 512)
    config = presets.worker_config(preset, points, data, presets.Target("127.0.0.1", 30000, "m"), "n")
    assert [spec["name"] for spec in config["points"]] == names
    assert config["max_s"] > price.longest_s
    json.dumps(config, allow_nan=False)


def test_outputs_are_shorter_from_64_users_on_and_repeats_go_round() -> None:
    points = presets.planned(presets.PRESETS["publish"])
    assert {point.osl for point in points if point.concurrency < 64} == {1024}
    assert {point.osl for point in points if point.concurrency >= 64} == {256}
    assert [point.repeat for point in points] == sorted(point.repeat for point in points)


def test_accept_runs_to_the_answers_end_at_two_temperatures() -> None:
    accept = presets.PRESETS["accept"]
    said = presets.setup(accept, dataset("own", 0, 0))
    assert (said["ignore_eos"], said["sampling"], said["output_spec"]) == (
        False,
        "temperature=0,temperature=1",
        "max:1024",
    )
    assert {point.variant for point in presets.planned(accept)} == {"t0", "t1"}
    assert presets.setup(presets.PRESETS["slo"], dataset("synthetic", 9, 0))["load_mode"] == "poisson"


def test_a_fast_server_does_not_bind_the_client() -> None:
    """15,000 events/s of an H200 took a quarter of a core, and were 75 % of what the calibration had offered."""
    offered = presets.OFFERED_PER_S
    assert 15_000 / offered < MAX_CALIBRATED_SHARE


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("c0008-r0", "C = 8"),
        ("c0256-r2", "C = 256, round 3"),
        ("c0001-t0.6-r1", "C = 1, temperature 0.6, round 2"),
        ("q2.5-r0", "2.5 requests/s"),
        ("worker", "worker"),
    ],
)
def test_a_points_name_is_said_in_words(name: str, said: str) -> None:
    assert presets.spoken(name) == said


def test_every_planned_point_has_words_and_one_point_is_no_plural() -> None:
    for preset in presets.PRESETS.values():
        for point in presets.planned(preset):
            assert presets.spoken(point.name) != point.name
        cost = presets.estimate(preset)
        assert str(cost).startswith("1 point," if cost.points == 1 else f"{cost.points} points, about ")
