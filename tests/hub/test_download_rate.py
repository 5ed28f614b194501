"""The rate of a download and what it says of the time that remains."""

from __future__ import annotations

import pytest

from console.payloads.hub.progress import RATE_TAU_S, Rate


def test_a_steady_rate_is_itself_and_gives_the_rest_in_seconds() -> None:
    rate = Rate()
    for second in range(120):
        rate.update(float(second), second * 1000)
    assert rate.bytes_s == pytest.approx(1000.0)
    assert rate.eta_s(5000) == pytest.approx(5.0)
    assert rate.eta_s(0) == 0.0


def test_a_change_counts_by_two_thirds_after_its_time_constant() -> None:
    rate = Rate()
    rate.update(0.0, 0)
    rate.update(1.0, 1000)
    rate.update(1.0 + RATE_TAU_S, 1000)  # nothing came
    assert rate.bytes_s == pytest.approx(1000.0 / 2.71828, rel=1e-3)


def test_what_gets_less_is_no_negative_rate() -> None:
    """A file that was thrown away, to be fetched again."""
    rate = Rate()
    rate.update(0.0, 5000)
    rate.update(1.0, 0)
    assert rate.bytes_s == 0.0
    assert rate.eta_s(5000) is None


def test_nothing_is_known_from_one_look_or_two_of_one_moment() -> None:
    rate = Rate()
    rate.update(1.0, 10)
    rate.update(1.0, 20)
    assert (rate.bytes_s, rate.eta_s(10)) == (None, None)
