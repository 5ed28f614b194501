"""Stored runs survive what happens to files, and read fast."""

from __future__ import annotations

import json
import stat
import time
from pathlib import Path

import pytest

from console.bench.points import Percentiles, Point
from console.bench.store import Manifest, Note, RunError, RunStore, run_json
from console.values import Unknown
from console.views.bench import list_lines


def a_point(concurrency: int = 8, repeat: int = 0, tok_s: float = 100.0, **more: object) -> Point:
    return Point(concurrency, repeat, 60.0, 600, 0, tok_s, name=f"c{concurrency:04d}-r{repeat}", **more)  # type: ignore[arg-type]


def a_run(store: RunStore, run_id: str = "20261130T010203Z-k26-abcd", **more: object) -> str:
    store.create(Manifest(id=run_id, created="2026-11-30T01:02:03Z", recipe="k26", **more))  # type: ignore[arg-type]
    return run_id


def test_what_was_stored_comes_back(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    run_id = a_run(store, gpus=8, setup={"model_sha": "a1"})
    point = a_point(ttft_ms=Percentiles(10.0, 20.0, Unknown("no samples")), accepted_per_position=(0.5, 0.25))
    store.add_point(run_id, point)
    run = store.load(run_id)
    assert run.points == (point,)
    assert run.manifest.gpus == 8
    assert run.best_tok_s == 100.0


def test_private_and_append_only(tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    run_id = a_run(store)
    store.add_point(run_id, a_point())
    store.add_file(run_id, "c0008-r0.ndjson.gz", b"first")
    store.add_file(run_id, "c0008-r0.ndjson.gz", b"second")
    assert (store.root / run_id / "events" / "c0008-r0.ndjson.gz").read_bytes() == b"first"
    for path in store.root.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    with pytest.raises(RunError, match="exists already"):
        a_run(store)


def test_two_consoles_store_a_point_once(tmp_path: Path) -> None:
    first, second = RunStore(tmp_path / "runs"), RunStore(tmp_path / "runs")
    run_id = a_run(first)
    for store in (first, second):
        store.add_point(run_id, a_point(1))
        store.add_point(run_id, a_point(8))
    first.add_point(run_id, a_point(1, repeat=1))
    assert [point.name for point in first.load(run_id).points] == ["c0001-r0", "c0008-r0", "c0001-r1"]


@pytest.mark.parametrize("name", ["../evil", "a/b", "", ".hidden"])
def test_no_way_out_of_the_directory(tmp_path: Path, name: str) -> None:
    store = RunStore(tmp_path)
    with pytest.raises(RunError):
        a_run(store, name)
    run_id = a_run(store, "fine")
    with pytest.raises(RunError):
        store.add_file(run_id, name, b"")


def test_a_torn_last_line_is_left_out_and_spoils_nothing(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run_id = a_run(store)
    store.add_point(run_id, a_point(1))
    with (tmp_path / run_id / "points.jsonl").open("ab") as file:
        file.write(b'{"concurrency": 8, "rep')
    assert [point.concurrency for point in store.load(run_id).points] == [1]
    store.add_point(run_id, a_point(64))
    assert [point.concurrency for point in store.load(run_id).points] == [1, 64]


def test_a_broken_line_in_the_middle_is_told(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run_id = a_run(store)
    (tmp_path / run_id / "points.jsonl").write_bytes(b"nonsense\n{}\n")
    with pytest.raises(RunError, match=r"points\.jsonl:1"):
        store.load(run_id)
    assert store.listing() == ([], [run_id])
    assert store.runs() == []


def test_notes_and_marks(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run_id = a_run(store)
    store.add_note(run_id, Note("2026-11-30T02:00:00Z", "fan was loud"))
    store.add_note(run_id, Note("2026-11-30T02:01:00Z", mark="keep"))
    run = store.load(run_id)
    assert (run.mark, run.notes[0].text) == ("keep", "fan was loud")
    with pytest.raises(RunError, match="no mark 'gold'"):
        store.add_note(run_id, Note("2026-11-30T02:02:00Z", mark="gold"))


def test_runs_are_found_by_the_beginning_of_their_id(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    with pytest.raises(RunError, match="no runs yet"):
        store.find("last")
    a_run(store, "run-a1")
    a_run(store, "run-b1")
    assert store.find("run-a").id == "run-a1"
    assert store.find("last").id == "run-b1"
    with pytest.raises(RunError, match="means 2 runs"):
        store.find("run")
    with pytest.raises(RunError, match="there is no run 'x'"):
        store.find("x")


def test_the_json_of_a_run_has_reasons_beside_its_nulls(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run_id = a_run(store)
    store.add_point(run_id, a_point())
    body = json.loads(json.dumps(run_json(store.load(run_id)), allow_nan=False))
    point = body["points"][0]
    assert point["accept_length"] is None
    assert point["accept_length_reason"] == "not told by the tool"
    assert set(point["ttft_ms"]) >= {"p50", "p95", "p99"}
    assert len(body["comparable_hash"]) == 16


def test_flagged_and_aborted_points_are_no_best(tmp_path: Path) -> None:
    store = RunStore(tmp_path)
    run_id = a_run(store)
    store.add_point(run_id, a_point(tok_s=900.0, flags=("server_cap",)))
    store.add_point(run_id, a_point(tok_s=800.0, aborted=True))
    store.add_point(run_id, a_point(tok_s=100.0, flags=("few_samples",)))
    assert store.load(run_id).best_tok_s == 100.0


def test_a_thousand_runs_are_listed_at_once(tmp_path: Path) -> None:
    """The whole command but its start: twelve points a run, as a sweep of three repeats writes them."""
    store = RunStore(tmp_path)
    for number in range(1000):
        run_id = a_run(store, f"run-{number:04d}", setup={"model_sha": "m"}, treatment={"tp": 8})
        line = b"".join(_encoded(c) for c in (1, 8, 64, 256))
        (tmp_path / run_id / "points.jsonl").write_bytes(3 * line)
    begun = time.process_time()
    listed, broken = store.listing()
    lines = list_lines(listed)
    assert time.process_time() - begun <= 3.0  # on a slow machine; `make perf` measures it
    assert (len(lines), broken) == (1001, [])
    assert [(run.id, run.best_tok_s, run.mark) for run in listed] == [
        (run.id, run.best_tok_s, run.mark) for run in store.runs()
    ]


def _encoded(concurrency: int) -> bytes:
    import msgspec

    return bytes(msgspec.json.encode(a_point(concurrency))) + b"\n"
