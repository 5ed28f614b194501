"""Probes: each in a thread of its own, watched, so that one that hangs is told and stalls nobody."""

from __future__ import annotations

import threading
import time
from typing import Any

from .wire import Outlet

STUCK_S = 3.0  # when a sample that has not come back is worth telling
AGAIN_S = 5.0  # how often it is told again


class Runner:
    """One probe's thread and what the watch knows of it."""

    def __init__(self, name: str, probe: Any, outlet: Outlet) -> None:
        self._name = name
        self._probe = probe
        self._outlet = outlet
        self._poke = threading.Event()
        self._busy_since: float | None = None
        self._told_at: float | None = None
        self._failed: str | None = None

    def start(self) -> None:
        threading.Thread(target=self._run, name=self._name, daemon=True).start()

    def poke(self) -> None:
        self._poke.set()

    def _run(self) -> None:
        due = time.monotonic()
        while True:
            self._poke.clear()
            self._busy_since = time.monotonic()
            self._sample()
            self._busy_since = None
            due = max(due + self._probe.period_s, time.monotonic())
            self._poke.wait(due - time.monotonic())

    def _sample(self) -> None:
        try:
            self._probe.sample()
            self._failed = None
        except Exception as error:  # whatever it is, the other probes go on
            reason = f"{type(error).__name__}: {error}"
            if reason != self._failed:
                self._failed = reason
                self._outlet.sample("ProbeFailed", {"probe": self._name, "reason": reason[:500]})

    def watch(self, now: float) -> None:
        """Called each second by the heartbeat: tell a stuck probe, and once that it answers again."""
        since = self._busy_since
        if since is None or now - since < STUCK_S:
            if self._told_at is not None:
                self._told_at = None
                self._tell(0.0)
        elif self._told_at is None or now - self._told_at >= AGAIN_S:
            self._told_at = now
            self._tell(now - since)

    def _tell(self, stuck_s: float) -> None:
        self._outlet.sample("ProbeStuck", {"probe": self._name, "stuck_s": round(stuck_s, 1)})
