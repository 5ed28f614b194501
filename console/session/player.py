"""Plays a replay against the wall clock: pause, speed, jumps, the next notable event."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from console.events import Stamped
from console.events.link import NoteWritten
from console.session.replay import Replay
from console.state import State


class Mark(NamedTuple):
    """A moment at which something notable happened; `noted`: the user wrote a note there."""

    t: float
    noted: bool


SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)

# (state before the fact, the fact) -> is it worth stopping at?
Notable = Callable[[State, Stamped], bool]


class Player:
    """Moves a Replay on. `tick` takes the wall seconds that passed since the last one."""

    def __init__(self, replay: Replay, speed: float = 1.0) -> None:
        self.replay = replay
        self.speed = speed
        self.paused = False
        self.marks: tuple[Mark, ...] = ()
        self._duration_s: float | None = None

    @property
    def duration_s(self) -> float:
        """Length of the recording; the file is read once for it."""
        if self._duration_s is None:
            self._duration_s = self.replay.measure()
        return self._duration_s

    def find_marks(self, notable: Notable) -> None:
        """Play the whole recording once, beside the one on screen, and keep where something notable happened."""
        apart, marks = self.replay.again(), []
        while (stamped := apart.upcoming) is not None:
            if notable(apart.state, stamped):
                marks.append(Mark(stamped.t, isinstance(stamped.event, NoteWritten)))
            apart.step()
        self.marks = tuple(marks)

    def tick(self, passed_s: float) -> None:
        """Play on, unless paused; the clock stands at the end."""
        if not self.paused:
            self.replay.advance(min(self.replay.now() + passed_s * self.speed, self.duration_s))

    def toggle(self) -> None:
        """Pause, or play on; at the end, from the beginning."""
        if not self.paused and self.replay.ended:
            self.replay.seek(0.0)
        else:
            self.paused = not self.paused

    def step(self) -> None:
        """One fact on, paused."""
        self.paused = True
        self.replay.step()

    def jump(self, seconds: float) -> None:
        """Forward or back."""
        self.replay.seek(min(max(0.0, self.replay.now() + seconds), self.duration_s))

    def go_to(self, t: float) -> None:
        """To a moment, in seconds since the start."""
        self.replay.seek(min(max(0.0, t), self.duration_s))

    def faster(self, by: int) -> None:
        """The next speed up or down of 0.25 … 8."""
        nearest = min(range(len(SPEEDS)), key=lambda index: abs(SPEEDS[index] - self.speed))
        self.speed = SPEEDS[min(max(0, nearest + by), len(SPEEDS) - 1)]

    def next_notable(self, notable: Notable) -> Stamped | None:
        """Play to the next fact worth stopping at, and pause there; None at the end."""
        self.paused = True
        while (stamped := self.replay.upcoming) is not None:
            stops = notable(self.replay.state, stamped)
            self.replay.step()
            if stops:
                return stamped
        return None
