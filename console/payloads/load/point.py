"""One measured point: flush, warm-up that hands over without a drain, window, cut.

The window starts while the load keeps running: a drained server would put C simultaneous prefills into it.
"""

from __future__ import annotations

import asyncio
import contextlib
import statistics
from time import monotonic, time
from typing import Any

from . import steady
from .backends import Backend
from .client import Counters, micros
from .gpus import PERIOD_S, Sampler
from .health import Health
from .loads import ClosedLoop, Load, Once, OpenLoop, poisson
from .output import Output
from .prompts import Prompts
from .server import NotStarted, Server

STEPS = 20
DRAIN_S = 30.0
TICK_S = 1.0
ONCE_S = 0.1
# Arguments (0.5.11, 0.5.23) with which an event holds the new text alone, not the answer so far.
IN_PIECES = ("stream_output", "incremental_streaming_output")


class Point:
    """Everything of one point. `stop()` ends it early and keeps what was measured."""

    def __init__(
        self, config: dict[str, Any], spec: dict[str, Any], server: Server, output: Output, sampler: Sampler
    ) -> None:
        self.config, self.spec = {**config, **spec}, spec
        self.server, self.output, self.sampler = server, output, sampler
        self.counters = Counters()
        self.health = Health(self.counters)
        self.state = "preflight"
        self.stopped = asyncio.Event()
        self.load = self._new_load()
        self._gauges: dict[str, float] = {}
        self._active: list[float] = []
        self._ttfts: list[float] = []

    def _new_load(self) -> Load:
        config = self.config
        seed = f"{config['nonce_seed']}:{config['name']}"
        once = bool(config.get("once"))
        prompts = Prompts(config["dataset"], seed, config.get("cache", "cold") == "cold" and not once)
        rest = (Backend(config), prompts, int(config["osl"]), self.counters, seed)
        rate = config.get("rate")
        if not rate:
            return (Once if once else ClosedLoop)(int(config["concurrency"]), *rest)
        horizon = float(config["warmup_max_s"]) + float(config["window_max_s"])
        return OpenLoop(poisson(rate, max(1, round(rate * horizon)), seed), int(config.get("cap") or 0), *rest)

    async def run(self) -> dict[str, Any]:
        """The result; raises NotStarted. Its times are microseconds since `epoch_m`."""
        before = await self.server.snapshot()
        if self.config.get("once") and any(before["info"].get(name) for name in IN_PIECES):
            raise NotStarted("the server streams its answers in pieces: they cannot be compared whole")
        self._enter("flush")
        cold = self.config.get("cache", "cold") == "cold"
        flushed = await self.server.flush(float(self.config.get("flush_s", 60))) if cold else "kept"
        before["metrics"] = await self.server.metrics()
        epoch_m, epoch_t = monotonic(), time()
        self.health.start()
        ticker = asyncio.ensure_future(self._tick())
        self._enter("warmup")
        self.load.start()
        try:
            settled = await self._warm_up()
            warm = monotonic() - epoch_m
            a, b, converged, metrics = await self._window()
            self._enter("drain")
            await self._drain(b)
        finally:
            ticker.cancel()
            self.health.stop()
        client = self.health.report(self.load.finished)
        self.load.stop()
        after = await self.server.snapshot()
        await self._powered(b)
        return {
            "name": self.spec["name"],
            "concurrency": self.spec["concurrency"],
            "repeat": self.spec["repeat"],
            "rate": self.spec.get("rate"),
            "variant": self.spec.get("variant", ""),
            "sampling": self.load.backend.sampling,
            "epoch_m": epoch_m,
            "epoch_t": epoch_t,
            "window": [micros(a - epoch_m), micros(b - epoch_m)],
            "warmup_s": warm,
            "stationary": settled and not self._saturated(),
            "converged": converged,
            "aborted": self.stopped.is_set(),
            "gone": self.load.gone,
            "flush": flushed,
            "client": client,
            "server_before": before,
            "server_after": after,
            "window_metrics": metrics,
            "gpus": self.sampler.uuids,
            "gpus_reason": self.sampler.error,
            "power": [[micros(t - epoch_m), watts, names] for t, watts, names in self.sampler.between(a, b)],
        }

    def requests(self, result: dict[str, Any]) -> list[dict[str, Any]]:
        """The timelines, on the clock of the result."""
        return [exchange.record(result["epoch_m"]) for exchange in self.load.finished]

    def stop(self) -> None:
        self.stopped.set()

    async def _powered(self, b: float) -> None:
        """The window's energy ends with a sample behind it: the next one is at most a period away."""
        limit = monotonic() + 2 * PERIOD_S
        while not (self.sampler.reaches(b) or self.stopped.is_set()) and monotonic() < limit:
            await self._pause(0.02)

    @property
    def _over(self) -> bool:
        return self.stopped.is_set() or bool(self.load.gone) or self.load.over

    def _saturated(self) -> bool:
        return bool(self.spec.get("rate")) and steady.saturated(self._active, self._ttfts)

    def _enter(self, state: str) -> None:
        self.state = state
        self.output.line("state", point=self.spec["name"], state=state)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self.stopped.wait(), seconds)

    async def _warm_up(self) -> bool:
        """True when the rate has settled; False at the cap or when it was ended. Asking once has no steady state."""
        if self.config.get("once"):
            return True
        begun, tokens, bins = monotonic(), self.counters.tokens, []
        while not self._over and monotonic() - begun < float(self.config["warmup_max_s"]):
            start = monotonic()
            await self._pause(float(self.config["bin_s"]))
            bins.append((self.counters.tokens - tokens) / (monotonic() - start))
            tokens = self.counters.tokens
            if self.load.settled() and steady.stationary(bins):
                return True
        return False

    async def _window(self) -> tuple[float, float, bool, list[dict[str, float]]]:
        """Start, end, whether the rate's interval got narrow enough, and the server's counters at both ends."""
        first = await self.server.metrics()
        self._enter("window")
        self.health.reset()
        length, longest = float(self.config["window_s"]), float(self.config["window_max_s"])
        a = monotonic()
        while self.config.get("once") and not self._over and monotonic() - a < longest:
            await self._pause(ONCE_S)
        marks = [(a, self.counters.tokens)]
        converged = bool(self.config.get("once"))
        while not self._over and not converged:
            due = a + len(marks) * length / STEPS
            await self._pause(max(0.0, due - monotonic()))
            marks.append((monotonic(), self.counters.tokens))
            steps = len(marks) - 1
            if steps < STEPS or steps % steady.BATCHES:
                continue
            converged = steady.converged(batches(marks))
            if self._saturated() or due - a + length / 2 > longest:
                break
        b = monotonic()
        return a, b, converged, [first, await self.server.metrics()]

    async def _drain(self, end: float) -> None:
        """Open loop: requests of the window may finish, with a limit; closed loop: nothing to wait for."""
        if not self.spec.get("rate"):
            return
        deadline = monotonic() + float(self.config.get("drain_s", DRAIN_S))
        while not self._over and monotonic() < deadline:
            if not any(e.sched is not None and e.sched < end for e in self.load.running()):
                return
            await self._pause(0.1)

    async def _tick(self) -> None:
        """One progress line a second, with the server's gauges beside the client's numbers."""
        at, tokens, finished = monotonic(), 0, 0
        while True:
            await asyncio.sleep(max(0.0, at + TICK_S - monotonic()))
            now = monotonic()
            self._gauges = await self.server.metrics()
            recent = self.load.finished[finished:]
            ttfts = [e.times[0] - (e.sched or e.t0) for e in recent if e.times]
            self._active.append(float(self.load.active + self.load.queued))
            self._ttfts += [statistics.median(ttfts)] if ttfts else []
            self.output.line("tick", **self._progress((self.counters.tokens - tokens) / (now - at), ttfts))
            at, tokens, finished = now, self.counters.tokens, finished + len(recent)

    def _progress(self, rate: float, ttfts: list[float]) -> dict[str, Any]:
        lag, cpu = self.health.now()
        return {
            "point": self.spec["name"],
            "concurrency": self.spec["concurrency"],
            "repeat": self.spec["repeat"],
            "state": self.state,
            "active": self.load.active,
            "queued": self.load.queued,
            "started": self.load.started,
            "done": len(self.load.finished) - self.load.failed,
            "failed": self.load.failed,
            "tokens": self.counters.tokens,
            "events": self.counters.events,
            "tok_s": round(rate, 3),
            "ttft_s": round(statistics.median(ttfts), 6) if ttfts else None,
            "lag_s": None if lag is None else round(lag, 6),
            "cpu": round(cpu, 4),
            "server": self._gauges or None,
            "power_w": self.sampler.last(),
        }


def batches(marks: list[tuple[float, int]]) -> list[float]:
    """Rates of ten equal stretches between the marks."""
    size = (len(marks) - 1) // steady.BATCHES
    picked = marks[::size]
    return [(later[1] - earlier[1]) / (later[0] - earlier[0]) for earlier, later in zip(picked, picked[1:])]


__all__ = ["NotStarted", "Point", "batches"]
