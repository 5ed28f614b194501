"""The bus gives facts their order and time, and hands each to the reducer, the recorder and whoever listens.

Plain Python: a fact costs microseconds here, where a message of a user interface costs 34.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from console.events import Event, Stamped

Listener = Callable[[Stamped], None]


class Bus:
    """Stamps facts with `seq` (from 1, no gaps) and `t` (seconds since the start, never backwards)."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._started = clock()
        self._seq = 0
        self._listeners: list[Listener] = []
        self._waiting: deque[Stamped] = deque()
        self._handing_on = False

    def now(self) -> float:
        """Seconds since the bus started."""
        return self._clock() - self._started

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every further fact, in order; the answer ends that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def publish(self, event: Event) -> None:
        """Stamp a fact and hand it to the listeners. A fact that a listener publishes comes after this one."""
        self._seq += 1
        self._waiting.append(Stamped(self._seq, round(self.now(), 4), event))
        if self._handing_on:
            return
        self._handing_on = True
        try:
            while self._waiting:
                stamped = self._waiting.popleft()
                for listener in tuple(self._listeners):
                    listener(stamped)
        finally:
            self._handing_on = False
