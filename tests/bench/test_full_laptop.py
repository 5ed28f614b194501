"""A laptop whose disk is full: a measurement goes on, says it, and is stored whole as soon as there is room."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.bench.store import Manifest, RunError, RunStore
from console.events import bench as facts
from console.state import HostState
from console.state.reduce import HOST_REDUCERS
from console.values import CleanText, Unknown
from console.views.bench_pane import headline
from console.views.upset import upsets
from console.workers import run_keeping
from console.workers.run_keeping import Fetched, RunKeeping
from tests.bench.conftest import ServedBox
from tests.bench.test_run_store import a_point
from tests.support.patience import COMMAND_S
from tests.support.small_disk import fill, small_disk
from tests.support.standin import standin

TOLD = Manifest(id="run-1", created="2026-11-30T00:00:00Z", recipe="r")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small") as place:
        yield place


def test_a_full_disk_leaves_no_half_file(disk: Path) -> None:
    store = RunStore(disk / "runs")
    store.create(TOLD)
    store.add_point(TOLD.id, a_point(1))
    filler = fill(disk)
    for work in (
        lambda: store.create(Manifest(id="run-2", created="")),
        lambda: store.add_file(TOLD.id, "progress.ndjson", b"x" * 9999),
        lambda: [store.add_point(TOLD.id, a_point(2, number)) for number in range(99)],
    ):
        with pytest.raises(OSError, match="No space left"):
            work()
    filler.unlink()
    stored = len(store.load(TOLD.id).points)
    store.resume(Manifest(id="run-2", created=""))
    store.add_file(TOLD.id, "progress.ndjson", b"whole")
    store.add_point(TOLD.id, a_point(8))
    assert store.file(TOLD.id, "progress.ndjson") == b"whole"
    assert [point.concurrency for point in store.load(TOLD.id).points][stored:] == [8]
    assert store.load("run-2").points == ()
    assert not list(disk.rglob(".*"))


async def test_what_waits_is_fetched_again_when_there_is_room(disk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_keeping, "AGAIN_S", 0.01)
    store, told = RunStore(disk / "runs"), list[tuple[str, int]]()
    points = {point.name: point for point in (a_point(1), a_point(2), a_point(4))}
    files = {"c.json": b"x" * 300_000}
    asked: list[str] = []

    async def again(name: str) -> Fetched | None:
        asked.append(name)
        return Fetched(points[name], files) if name != "c0004-r0" else None

    filler = fill(disk)
    keeping = RunKeeping(store, TOLD, lambda reason, waiting: told.append((reason, waiting)))
    assert await keeping.begin() == ()
    for point in points.values():
        await keeping.add(Fetched(point, files))
    assert not await keeping.catch_up(again)
    assert asked == []
    assert [waiting for _, waiting in told] == [0, 1, 2, 3]
    assert "No space left on device" in told[-1][0]
    filler.unlink()
    await keeping.finish(again, "progress.ndjson", b"{}\n")
    assert asked == list(points)
    assert told[-1] == ("", 0)
    assert [point.name for point in store.load(TOLD.id).points] == ["c0001-r0", "c0002-r0"]
    assert store.file(TOLD.id, "progress.ndjson") == b"{}\n"


async def test_a_store_that_is_damaged_is_told_and_ends_nothing(tmp_path: Path) -> None:
    store, told = RunStore(tmp_path), list[tuple[str, int]]()
    store.create(TOLD)
    (tmp_path / TOLD.id / "manifest.json").write_text("{")
    with pytest.raises(RunError):
        store.load(TOLD.id)
    assert await RunKeeping(store, TOLD, lambda *what: told.append(what)).begin() == ()
    assert "the manifest cannot be read" in told[0][0]


def test_it_is_said_on_every_screen_until_it_is_stored() -> None:
    host, job, run = HostState("ct200"), CleanText("bench-1"), CleanText("run-1")
    began = facts.RunBegan(host="ct200", job=job, run=run, recipe=run, preset=run, planned=(run,), manifest={})
    failed = facts.StoringFailed(host="ct200", job=job, run=run, reason=CleanText("runs: full"), waiting=2)
    for event in (began, failed):
        HOST_REDUCERS[type(event)][1](host, event, 0.0)
    said = "2 measured points cannot be stored on this laptop: runs: full"
    assert [(sentence[: len(said)], key) for sentence, key in upsets(host)] == [(said, "6")]
    assert any(text.startswith(said) for text, _ in headline(host.bench.runs[job], 1.0, Unknown("none")))
    resumed = facts.StoringResumed(host="ct200", job=job, run=run)
    HOST_REDUCERS[facts.StoringResumed][1](host, resumed, 1.0)
    assert list(upsets(host)) == []


@pytest.mark.slow
def test_a_measurement_waits_for_room(served_box: ServedBox, tmp_path: Path) -> None:
    box = served_box.gpudeck
    place = box.home / "data" / "gpudeck"
    place.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        runs = stack.enter_context(small_disk(place / "runs"))
        (tmp_path / "standin").mkdir()
        port = stack.enter_context(standin(tmp_path / "standin"))
        filler = fill(runs)
        words = ("bench", "local", "--server", str(port), "--concurrency", "1,2", "--window", "1", "--isl", "16")
        pipe = subprocess.PIPE
        process = subprocess.Popen(box.argv(*words, "--osl", "16", "--json"), env=box.env, stdout=pipe, stderr=pipe,
                                   text=True, cwd=box.laptop.directory)  # fmt: skip
        stack.enter_context(process)
        stack.callback(process.kill)
        said: list[str] = []
        full = threading.Event()

        def listen() -> None:
            assert process.stderr is not None
            for line in process.stderr:
                said.append(line)
                if "C = 2: measured" in line:
                    full.set()

        listener = threading.Thread(target=listen, daemon=True)
        listener.start()
        assert full.wait(COMMAND_S), said
        filler.unlink()
        assert process.stdout is not None
        out = process.stdout.read()
        assert process.wait(COMMAND_S) == 0, said
        listener.join()
        assert sum("No space left on device" in line for line in said) == 1
        assert [point["concurrency"] for point in json.loads(out)["points"]] == [1, 2]
        (run,) = RunStore(runs).runs()
        assert {path.name for path in (runs / run.id / "events").iterdir()} == {
            "c0001-r0.json", "c0001-r0.ndjson.gz", "c0002-r0.json", "c0002-r0.ndjson.gz", "progress.ndjson",
        }  # fmt: skip
