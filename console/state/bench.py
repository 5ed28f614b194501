"""The slice of a box's measurements: the runs of this session, the newest last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from console.events import bench as facts
from console.state.reducer import HostReducer, HostReducers
from console.values import CleanText

if TYPE_CHECKING:
    from console.state.model import HostState

TICKS = 1800
RUNS_KEPT = 16


@dataclass
class BenchRun:
    """One run by its job. `points` are as stored; `ticks` the last half hour; `unstored` while the laptop cannot store
    them; `ended` None while it runs."""

    began: facts.RunBegan
    earlier: facts.EarlierRunFound | None = None
    step: facts.BenchStepReached | None = None
    step_t: float = 0.0
    calibrated: facts.BenchCalibrated | None = None
    ticks: deque[facts.BenchTicked] = field(default_factory=lambda: deque(maxlen=TICKS))
    tick_t: float | None = None
    points: list[dict[str, Any]] = field(default_factory=list)
    failed: list[tuple[CleanText, CleanText]] = field(default_factory=list)
    steps: list[facts.BenchStepReached] = field(default_factory=list)
    compared: list[facts.GreedyCompared] = field(default_factory=list)
    unstored: facts.StoringFailed | None = None
    ended: facts.BenchEnded | None = None


@dataclass
class Bench:
    """Runs by job; `refused` is why the last one that was asked for did not begin."""

    runs: dict[CleanText, BenchRun] = field(default_factory=dict)
    refused: CleanText = CleanText("")

    @property
    def latest(self) -> BenchRun | None:
        """The run in progress, else the last one."""
        running = [run for run in self.runs.values() if run.ended is None]
        return next(reversed(running or list(self.runs.values())), None)


def _began(host: HostState, event: facts.RunBegan, _t: float) -> None:
    runs, host.bench.refused = host.bench.runs, CleanText("")
    runs.pop(event.job, None)
    runs[event.job] = BenchRun(event)
    for job in list(runs)[:-RUNS_KEPT]:
        del runs[job]


def _refused(host: HostState, event: facts.BenchRefused, _t: float) -> None:
    host.bench.refused = event.sentence


def _earlier(run: BenchRun, event: facts.EarlierRunFound, _t: float) -> None:
    run.earlier = event


def _step(run: BenchRun, event: facts.BenchStepReached, t: float) -> None:
    run.step, run.step_t = event, t
    run.steps.append(event)


def _calibrated(run: BenchRun, event: facts.BenchCalibrated, _t: float) -> None:
    run.calibrated = event


def _ticked(run: BenchRun, event: facts.BenchTicked, t: float) -> None:
    run.ticks.append(event)
    run.tick_t = t


def _measured(run: BenchRun, event: facts.PointMeasured, _t: float) -> None:
    run.points.append(event.point)


def _failed(run: BenchRun, event: facts.PointFailed, _t: float) -> None:
    run.failed.append((event.name, event.sentence))


def _unstored(run: BenchRun, event: facts.StoringFailed, _t: float) -> None:
    run.unstored = event


def _stored(run: BenchRun, _event: facts.StoringResumed, _t: float) -> None:
    run.unstored = None


def _compared(run: BenchRun, event: facts.GreedyCompared, _t: float) -> None:
    run.compared.append(event)


def _ended(run: BenchRun, event: facts.BenchEnded, _t: float) -> None:
    run.ended = event


def _of_run(reducer: Callable[[BenchRun, Any, float], None]) -> HostReducer:
    """A fact of a run whose beginning is not in the recording changes nothing."""

    def reduce(host: HostState, event: Any, t: float) -> None:
        run = host.bench.runs.get(event.job)
        if run is not None:
            reducer(run, event, t)

    return reduce


REDUCERS: HostReducers = {
    facts.RunBegan: _began,
    facts.EarlierRunFound: _of_run(_earlier),
    facts.BenchStepReached: _of_run(_step),
    facts.BenchCalibrated: _of_run(_calibrated),
    facts.BenchTicked: _of_run(_ticked),
    facts.PointMeasured: _of_run(_measured),
    facts.PointFailed: _of_run(_failed),
    facts.StoringFailed: _of_run(_unstored),
    facts.StoringResumed: _of_run(_stored),
    facts.GreedyCompared: _of_run(_compared),
    facts.BenchEnded: _of_run(_ended),
    facts.BenchRefused: _refused,
}
