"""The list of a thousand stored runs, as `gpudeck runs list` reads and writes it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import msgspec

from console.bench.points import Percentiles, Point
from console.bench.store import Manifest, RunStore
from console.views.bench import list_lines
from tests.perf.table import Row

RUNS, USERS, REPEATS, TRIES = 1000, (1, 8, 64, 256), 3, 5
BUDGET_MS = 300.0
LEVELS = Percentiles(100.0, 200.0, 300.0)


def fill(store: RunStore) -> None:
    """Runs of a sweep: twelve points each, with their latencies, flags and causes."""
    points = [
        Point(users, repeat, 60.0, 600, 0, 97.9 * users, name=f"c{users:04d}-r{repeat}", ttft_ms=LEVELS, tpot_ms=LEVELS,
              itl_ms=LEVELS, e2e_ms=LEVELS, flags=("few_samples",), causes=("p99 from 60 requests, 500 needed",))
        for repeat in range(REPEATS) for users in USERS
    ]  # fmt: skip
    lines = b"".join(msgspec.json.encode(point) + b"\n" for point in points)
    for number in range(RUNS):
        run = f"20261130T{number:06d}Z-k26-ep4"
        store.create(Manifest(id=run, created="2026-11-30T01:02:03Z", host="ct200", recipe="k26-ep4", preset="sweep",
                              setup={"model_sha": "m" * 40}, treatment={"tp": 8, "ep": 4}))  # fmt: skip
        (store.root / run / "points.jsonl").write_bytes(lines)


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as place:
        store = RunStore(Path(place))
        fill(store)
        seconds = min(listed(store) for _ in range(TRIES))
    base = f"{len(USERS) * REPEATS} points each; CPU, best of {TRIES}"
    return [Row(measure="list of 1,000 runs", value=1000 * seconds, unit="ms", budget=BUDGET_MS, base=base)]


def listed(store: RunStore) -> float:
    """CPU seconds."""
    begun = time.process_time()
    runs, _ = store.listing()
    list_lines(runs)
    return time.process_time() - begun
