"""Is the client itself the bottleneck? Loop lag, CPU, coalesced reads: the evidence, not the verdict."""

from __future__ import annotations

import asyncio
from time import monotonic, process_time
from typing import Any

from .client import Counters, Exchange
from .steady import percentile

TIMER_S = 0.02
SLOW_GAP_S = 0.005


class Health:
    """Measures from `reset` on. Shares are 0…1, times seconds."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters
        self._lags: list[float] = []
        self._task: asyncio.Future[None] | None = None
        self.reset()

    def start(self) -> None:
        self._task = asyncio.ensure_future(self._timer())

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def reset(self) -> None:
        self._lags = []
        self._since, self._cpu = monotonic(), process_time()
        self._events, self._reads = self._counters.events, self._counters.reads
        self._coalesced = self._counters.coalesced

    async def _timer(self) -> None:
        while True:
            due = monotonic() + TIMER_S
            await asyncio.sleep(TIMER_S)
            self._lags.append(max(0.0, monotonic() - due))

    def now(self) -> tuple[float | None, float]:
        """Lag p99 and share of a core so far."""
        seconds = max(monotonic() - self._since, 1e-9)
        return percentile(self._lags, 99), (process_time() - self._cpu) / seconds

    def report(self, exchanges: list[Exchange]) -> dict[str, Any]:
        lag, cpu = self.now()
        seconds = max(monotonic() - self._since, 1e-9)
        events = self._counters.events - self._events
        reads = self._counters.reads - self._reads
        clumped = (self._counters.coalesced - self._coalesced) / reads if reads else None
        dispatch = [e.t0 - e.sched for e in exchanges if e.sched is not None and e.t0]
        return {
            "loop_lag_p99_s": lag,
            "cpu": cpu,
            "coalesced": clumped if mean_gap(exchanges) > SLOW_GAP_S else None,
            "dispatch_lag_p95_s": percentile(dispatch, 95),
            "events_per_s": events / seconds,
            "cpu_us_per_event": 1e6 * cpu * seconds / events if events else None,
        }


def mean_gap(exchanges: list[Exchange]) -> float:
    """Mean time between two events of one answer; 0 without any."""
    spans = [(e.times[-1] - e.times[0], len(e.times) - 1) for e in exchanges if len(e.times) > 1]
    count = sum(gaps for _, gaps in spans)
    return sum(span for span, _ in spans) / count if count else 0.0
