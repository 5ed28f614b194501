"""How long to wait before the next attempt to connect."""

from __future__ import annotations

import random

STEPS_S = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0)
JITTER = 0.2


class Backoff:
    """Delays of 0.5, 1, 2, 5, 10, 30, 30 … s, each ±20 %, so that many consoles do not knock at once."""

    def __init__(self, source: random.Random | None = None) -> None:
        self._random = source or random.Random()
        self._attempt = 0

    def next_delay_s(self) -> float:
        """The delay before the next attempt; each call counts one failed attempt more."""
        step = STEPS_S[min(self._attempt, len(STEPS_S) - 1)]
        self._attempt += 1
        return step * self._random.uniform(1 - JITTER, 1 + JITTER)

    def reset(self) -> None:
        """The link is up: the next loss starts from the shortest delay."""
        self._attempt = 0
