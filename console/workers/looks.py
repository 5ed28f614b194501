"""When what watches a box looks again: not by the clock, but when what it watches may have changed."""

from __future__ import annotations

import asyncio
import contextlib
import time

from console.events import HostEvent, Stamped, bench, hub, jobs, serve
from console.events.link import LinkChanged

LOOK_S = 0.25  # two looks are never closer
IDLE_S = 2.0  # nor further apart: what no fact tells (an answer that failed, a time that is over) waits no longer
WATCHED = frozenset((LinkChanged, *bench.EVENTS, *hub.EVENTS, *jobs.EVENTS, *serve.EVENTS))


class Looks:
    """The looks of one watcher of one box."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._changed = asyncio.Event()
        self._looked = 0.0

    def hear(self, stamped: Stamped) -> None:
        """A listener of the bus: facts that watchers act on make the next look due."""
        event = stamped.event
        if type(event) in WATCHED and isinstance(event, HostEvent) and event.host == self._host:
            self._changed.set()

    def ended(self, _: object) -> None:
        """For `Task.add_done_callback`: what ended is looked at."""
        self._changed.set()

    async def next(self) -> None:
        """Wait until the next look is due."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(IDLE_S):
                await self._changed.wait()
        if (early := self._looked + LOOK_S - time.monotonic()) > 0:
            await asyncio.sleep(early)
        self._changed.clear()
        self._looked = time.monotonic()
