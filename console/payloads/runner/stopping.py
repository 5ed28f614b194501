"""How a job is stopped: TERM to the main process alone, the grace, TERM to all that is left, then KILL."""

from __future__ import annotations

import signal

from .identity import Process, send

ALL_S = 5.0  # what the rest gets at most between TERM and KILL


class Stop:
    """Call `step` again and again until nothing is left. The rest gets the grace, too, but at most ALL_S."""

    def __init__(self, grace_s: float, now: float) -> None:
        self._stage = "main"
        self._since = now
        self.grace_s = grace_s  # a second request may change it

    def step(self, now: float, main: Process | None, members: list[Process]) -> None:
        """`main` is None once the main process is gone; `members` is everything that lives, `main` too."""
        if self._stage == "main":
            self._stage = "grace"
            if main is not None:
                _end([main])
        if self._stage == "grace" and (main is None or now >= self._since + self.grace_s):
            self._stage, self._since = "all", now
            _end(members)
        if self._stage == "all" and now >= self._since + min(ALL_S, self.grace_s):
            self._stage = "kill"
        if self._stage == "kill":
            for each in members:
                send(each, signal.SIGKILL)


def _end(processes: list[Process]) -> None:
    for each in processes:
        send(each, signal.SIGTERM)
        send(each, signal.SIGCONT)  # a paused process takes the TERM only when it goes on
