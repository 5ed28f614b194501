"""How long the console waits between attempts."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from console.remote.backoff import STEPS_S, Backoff


@given(st.integers(), st.integers(1, 20))
def test_delays_grow_to_thirty_seconds_and_vary_by_a_fifth(seed: int, attempts: int) -> None:
    backoff = Backoff(random.Random(seed))
    delays = [backoff.next_delay_s() for _ in range(attempts)]
    for number, delay in enumerate(delays):
        step = STEPS_S[min(number, len(STEPS_S) - 1)]
        assert 0.8 * step <= delay <= 1.2 * step
    backoff.reset()
    assert backoff.next_delay_s() <= 0.6


def test_two_consoles_do_not_knock_at_the_same_time() -> None:
    assert Backoff().next_delay_s() != Backoff().next_delay_s()
