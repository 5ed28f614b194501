"""Three ways to put load on a server: C users that always wait for an answer, the same until every prompt was asked
once, and arrivals that never wait.

All start requests without a task per request; a finished one starts the next in the same callback.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from time import monotonic
from typing import Any

from .backends import Backend
from .client import Counters, Exchange, Stream
from .prompts import Prompts

PAUSE_AFTER_FAILURE_S = 0.25
GONE_AFTER_FAILURES = 20


def poisson(rate: float, count: int, seed: str) -> list[float]:
    """Absolute arrival times: exponential gaps, rescaled so that the last one is at count/rate."""
    source = random.Random(seed)
    times: list[float] = []
    now = 0.0
    for _ in range(count):
        now += source.expovariate(rate)
        times.append(now)
    scale = count / rate / now
    return [t * scale for t in times]


class Load:
    """What both loads share: connections, counting, and the list of finished exchanges."""

    def __init__(self, backend: Backend, prompts: Prompts, osl: int, counters: Counters, seed: str) -> None:
        self.backend, self.prompts, self.osl, self.counters = backend, prompts, osl, counters
        self.finished: list[Exchange] = []
        self.started = self.failed = self.active = 0
        self.gone = ""
        self._random = random.Random(seed)
        self._streams: set[Stream] = set()
        self._idle: list[Stream] = []
        self._tasks: set[asyncio.Future[Any]] = set()
        self._failures_in_a_row = 0
        self._stopped = False

    @property
    def queued(self) -> int:
        return 0

    def running(self) -> list[Exchange]:
        return [stream.exchange for stream in self._streams if stream.exchange is not None]

    @property
    def over(self) -> bool:
        """Nothing more will be asked."""
        return False

    def settled(self) -> bool:
        """The start has been digested; the rate may be looked at."""
        raise NotImplementedError

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        """Ends everything at once; running exchanges are kept as cut."""
        self._stopped = True
        for task in list(self._tasks):
            task.cancel()
        for stream in list(self._streams):
            stream.cut()
            stream.close()

    def _exchange(self, first: bool = False) -> Exchange:
        prompt, category, limit = self.prompts.next()
        wanted = limit or self.osl
        if first:
            wanted = self._random.randint(1, wanted)
        self.started += 1
        body = self.backend.request(prompt, wanted)
        return Exchange(self.started, body, self.backend.reader(), wanted, category)

    def _dispatch(self, exchange: Exchange) -> None:
        self.active += 1
        while self._idle:
            stream = self._idle.pop()
            if stream.usable:
                stream.send(exchange)
                return
        task = asyncio.ensure_future(self._connect(exchange))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _connect(self, exchange: Exchange) -> None:
        loop = asyncio.get_running_loop()
        try:
            _, stream = await loop.create_connection(
                lambda: Stream(self.counters, self._done), self.backend.host, self.backend.port
            )
        except OSError as error:
            exchange.t0 = exchange.ended = monotonic()
            exchange.error = f"connect: {type(error).__name__}"
            self._ended(exchange)
            return
        self._streams.add(stream)
        stream.send(exchange)

    def _done(self, stream: Stream, exchange: Exchange) -> None:
        if stream.usable and not self._stopped:
            self._idle.append(stream)
        else:
            self._streams.discard(stream)
        if exchange.error == "stale_connection" and not self._stopped:
            exchange.error = ""
            self.active -= 1
            self._dispatch(exchange)
            return
        self._ended(exchange)

    def _ended(self, exchange: Exchange) -> None:
        self.active -= 1
        self.finished.append(exchange)
        failed = exchange.failed(self.backend.ignore_eos)
        self.failed += failed
        self._failures_in_a_row = self._failures_in_a_row + 1 if failed else 0
        if self._failures_in_a_row >= GONE_AFTER_FAILURES and not exchange.http:
            self.gone = exchange.error
        if not self._stopped:
            self._after(exchange, failed)

    def _after(self, exchange: Exchange, failed: bool) -> None:
        raise NotImplementedError


class ClosedLoop(Load):
    """C users; each sends its next request when the last one has ended.

    The first answers have random lengths, so that the users do not move in step.
    """

    def __init__(
        self, concurrency: int, backend: Backend, prompts: Prompts, osl: int, counters: Counters, seed: str
    ) -> None:
        super().__init__(backend, prompts, osl, counters, seed)
        self.concurrency = concurrency
        self._rounds: dict[int, int] = {}
        self._slot_of: dict[int, int] = {}

    def start(self) -> None:
        for slot in range(self.concurrency):
            self._rounds[slot] = 0
            self._next(slot)

    def _next(self, slot: int) -> None:
        if self._stopped:
            return
        exchange = self._exchange(first=self._rounds[slot] == 0)
        self._slot_of[exchange.index] = slot
        self._dispatch(exchange)

    def _after(self, exchange: Exchange, failed: bool) -> None:
        slot = self._slot_of.pop(exchange.index)
        if failed:
            asyncio.get_running_loop().call_later(PAUSE_AFTER_FAILURE_S, self._next, slot)
            return
        self._rounds[slot] += 1
        self._next(slot)

    def settled(self) -> bool:
        """Every user has finished an answer, or has got as many tokens as one has."""
        waiting = {slot for slot, rounds in self._rounds.items() if not rounds}
        for exchange in self.running() if waiting else ():
            if sum(exchange.tokens) >= self.osl:
                waiting.discard(self._slot_of[exchange.index])
        return not waiting


class Once(Load):
    """C users who ask every prompt of the data set once, whole; the number of an exchange is its prompt's."""

    def __init__(
        self, concurrency: int, backend: Backend, prompts: Prompts, osl: int, counters: Counters, seed: str
    ) -> None:
        super().__init__(backend, prompts, osl, counters, seed)
        self.concurrency = concurrency

    @property
    def over(self) -> bool:
        return self.active == 0 and self.started >= self.prompts.total

    def start(self) -> None:
        for _ in range(self.concurrency):
            self._next()

    def _next(self) -> None:
        if self.started < self.prompts.total:
            self._dispatch(self._exchange())

    def _after(self, exchange: Exchange, failed: bool) -> None:
        self._next()

    def settled(self) -> bool:
        return True


class OpenLoop(Load):
    """Arrivals on an absolute Poisson schedule; with a cap, what exceeds it waits here and the clock runs."""

    def __init__(
        self,
        schedule: list[float],
        cap: int,
        backend: Backend,
        prompts: Prompts,
        osl: int,
        counters: Counters,
        seed: str,
    ) -> None:
        super().__init__(backend, prompts, osl, counters, seed)
        self._schedule = schedule
        self._cap = cap
        self._waiting: deque[Exchange] = deque()
        self._begun = 0.0

    @property
    def queued(self) -> int:
        return len(self._waiting)

    def start(self) -> None:
        self._begun = monotonic()
        task = asyncio.ensure_future(self._arrivals())
        self._tasks.add(task)

    async def _arrivals(self) -> None:
        for offset in self._schedule:
            due = self._begun + offset
            delay = due - monotonic()
            if delay > 0:
                await asyncio.sleep(delay)
            exchange = self._exchange()
            exchange.sched = due
            self._waiting.append(exchange)
            self._release()

    def _release(self) -> None:
        while self._waiting and (not self._cap or self.active < self._cap):
            self._dispatch(self._waiting.popleft())

    def _after(self, exchange: Exchange, failed: bool) -> None:
        self._release()

    def settled(self) -> bool:
        return len(self.finished) > 0

    def stop(self) -> None:
        super().stop()
        for exchange in self._waiting:
            exchange.cut = True
            exchange.t0 = exchange.ended = monotonic()
            self.finished.append(exchange)
        self._waiting.clear()
