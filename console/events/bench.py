"""Facts of measurements: a run on a box, its points, and what the load worker sees of itself and of the server.

`job` names the job that measures, `run` the stored run. `elapsed_s` is the worker's own clock since its start.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from console.events.base import Event, HostEvent
from console.values import CleanText, Unknown

BenchStep = Literal["calibrate", "preflight", "flush", "warmup", "window", "drain", "paused"]


class RunBegan(HostEvent, frozen=True, gc=False, kw_only=True):
    """A run is being measured. `planned` names its points in order; `manifest` is the stored run's."""

    job: CleanText
    run: CleanText
    recipe: CleanText
    preset: CleanText
    planned: tuple[CleanText, ...]
    manifest: dict[str, Any]


class EarlierRunFound(HostEvent, frozen=True, gc=False, kw_only=True):
    """The best stored run that answered the same question on this box: the ghost under the new curve."""

    job: CleanText
    manifest: dict[str, Any]
    points: tuple[dict[str, Any], ...]


class BenchStepReached(HostEvent, frozen=True, gc=False, kw_only=True):
    """The worker entered a step of a point; `point` is empty between points."""

    job: CleanText
    point: CleanText
    step: BenchStep
    elapsed_s: float


class BenchCalibrated(HostEvent, frozen=True, gc=False, kw_only=True):
    """What the client can take on this box, against its own mock."""

    job: CleanText
    events_s: float
    cpu_ratio: float
    lag_p99_s: float | Unknown


class BenchTicked(HostEvent, frozen=True, gc=False, kw_only=True):
    """One second of a point. Rates are of this second; `server_*`, `kv_ratio`, `gen_tok_s` are the server's gauges."""

    job: CleanText
    point: CleanText
    concurrency: int
    elapsed_s: float
    active: int
    queued: int
    done: int
    failed: int
    tok_s: float
    ttft_s: float | Unknown
    lag_p99_s: float | Unknown
    cpu_ratio: float
    server_running: float | Unknown
    server_queued: float | Unknown
    gen_tok_s: float | Unknown
    kv_ratio: float | Unknown
    power_w: float | Unknown


class PointMeasured(HostEvent, frozen=True, gc=False, kw_only=True):
    """A point is measured; `point` is as stored, unknown values as in a recording."""

    job: CleanText
    run: CleanText
    point: dict[str, Any]


class PointFailed(HostEvent, frozen=True, gc=False, kw_only=True):
    """A point could not be measured, or not to its end."""

    job: CleanText
    run: CleanText
    name: CleanText
    sentence: CleanText


class StoringFailed(HostEvent, frozen=True, gc=False, kw_only=True):
    """This laptop cannot store what was measured; `waiting` points stay on the box, and are fetched when it can."""

    job: CleanText
    run: CleanText
    reason: CleanText
    waiting: int


class StoringResumed(HostEvent, frozen=True, gc=False, kw_only=True):
    """Everything that waited is stored."""

    job: CleanText
    run: CleanText


class BenchEnded(HostEvent, frozen=True, gc=False, kw_only=True):
    """The worker is gone and everything it measured is stored. `sentence` is empty when it measured all."""

    job: CleanText
    run: CleanText
    sentence: CleanText


class GreedyCompared(HostEvent, frozen=True, gc=False, kw_only=True):
    """Greedy answers of the speculative run `run` against those of `baseline`; `job` measured the later one.

    `different`: numbers of the prompts; `needed`: as many have to be equal. `pair` is empty for a server that was not
    started from a plan."""

    job: CleanText
    run: CleanText
    recipe: CleanText
    baseline: CleanText | Unknown
    prompts: int
    different: tuple[int, ...]
    needed: int
    pair: CleanText


class BenchRefused(HostEvent, frozen=True, gc=False, kw_only=True):
    """A measurement that was asked for on screen did not begin."""

    sentence: CleanText


class StoredRun(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """A stored run as a list shows it. `against`: the run it is compared with, and what the comparison says."""

    id: CleanText
    created: CleanText
    recipe: CleanText
    host: CleanText
    preset: CleanText
    sweep: CleanText
    mark: CleanText
    points: int
    best_tok_s: float | Unknown
    flags: tuple[CleanText, ...]
    notes: tuple[CleanText, ...] = ()
    against: CleanText = CleanText("")
    comparison: tuple[CleanText, ...] = ()


class RunsListed(Event, frozen=True, gc=False, kw_only=True):
    """The stored runs of this laptop, newest first; `older` ones are not listed."""

    runs: tuple[StoredRun, ...]
    older: int


EVENTS = (
    RunBegan,
    EarlierRunFound,
    BenchStepReached,
    BenchCalibrated,
    BenchTicked,
    PointMeasured,
    PointFailed,
    StoringFailed,
    StoringResumed,
    GreedyCompared,
    BenchEnded,
    BenchRefused,
    RunsListed,
)
