"""A recorded session, played again. It holds no remote object, so it cannot touch a box."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from console.events import Stamped
from console.journal import Header, Recording
from console.state import State, reduce

DEMO_HOST = "demo"


class Replay:
    """The state of a recording at a moment. `advance` plays on; `seek` back starts again from the beginning."""

    controls = None
    read_only = True

    def __init__(self, path: Path) -> None:
        """Open a recording; raises RecordingError."""
        self._path = path
        self._recording = Recording(path)
        self.header: Header = self._recording.header
        self.recording = ""
        self._rewind()

    def _rewind(self) -> None:
        self.state = State()
        self._facts: Iterator[Stamped] = self._recording.facts()
        self._next: Stamped | None = next(self._facts, None)
        self._now = 0.0

    @property
    def demo(self) -> bool:
        """True for a recording of the demo box alone."""
        return self.header.hosts == (DEMO_HOST,)

    @property
    def warnings(self) -> list[str]:
        """What was odd about the file, as far as it was read."""
        return self._recording.warnings

    @property
    def ended(self) -> bool:
        """True when no fact is left."""
        return self._next is None

    @property
    def upcoming(self) -> Stamped | None:
        """The fact that `step` will fold."""
        return self._next

    @property
    def next_t(self) -> float | None:
        """When the next fact happens."""
        return self._next.t if self._next else None

    def now(self) -> float:
        """Seconds since the recorded session started."""
        return self._now

    def advance(self, until: float | None = None) -> None:
        """Fold every fact up to `until` seconds, or all of them."""
        while (stamped := self._next) is not None and (until is None or stamped.t <= until):
            self._fold(stamped)
        self._now = self.state.t if until is None else max(self._now, until)

    def step(self) -> Stamped | None:
        """Fold the next fact alone and give it."""
        stamped = self._next
        if stamped is not None:
            self._fold(stamped)
            self._now = max(self._now, stamped.t)
        return stamped

    def seek(self, t: float) -> None:
        """The state at `t`, before or after the present moment."""
        if t < self._now:
            self._rewind()
        self.advance(max(t, 0.0))

    def again(self) -> Replay:
        """The same recording from its beginning."""
        return Replay(self._path)

    def measure(self) -> float:
        """Seconds from the start to the last fact. Reads the whole file."""
        last = 0.0
        for stamped in Recording(self._path).facts():  # a reader of its own: this one is in the middle of the file
            last = stamped.t
        return last

    def _fold(self, stamped: Stamped) -> None:
        reduce(self.state, stamped)
        self._next = next(self._facts, None)


def play(replay: Replay, speed: float | None, until: float | None = None) -> None:
    """Play to the end, or to `until`, at `speed` times real time; None is as fast as it goes."""
    while speed is not None and (t := replay.next_t) is not None and (until is None or t <= until):
        time.sleep(max(0.0, t - replay.now()) / speed)
        replay.step()
    replay.advance(until)
