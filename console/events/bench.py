"""Facts of measurements: a run on a box, its points, and what the load worker sees of itself and of the server.

`job` names the job that measures, `run` the stored run. `elapsed_s` is the worker's own clock since its start.
"""

from __future__ import annotations

from typing import Any, Literal

from console.events.base import HostEvent
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
    """A point is measured and stored; `point` is as stored, unknown values as in a recording."""

    job: CleanText
    run: CleanText
    point: dict[str, Any]


class PointFailed(HostEvent, frozen=True, gc=False, kw_only=True):
    """A point could not be measured, or not to its end."""

    job: CleanText
    run: CleanText
    name: CleanText
    sentence: CleanText


class BenchEnded(HostEvent, frozen=True, gc=False, kw_only=True):
    """The worker is gone and everything it measured is stored. `sentence` is empty when it measured all."""

    job: CleanText
    run: CleanText
    sentence: CleanText


EVENTS = (RunBegan, BenchStepReached, BenchCalibrated, BenchTicked, PointMeasured, PointFailed, BenchEnded)
