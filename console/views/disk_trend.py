"""How long until a disk is full, from what was written in the last minutes."""

from __future__ import annotations

from collections.abc import Sequence

from console.values import Unknown

LEAST_S = 20.0


def fill_rate(samples: Sequence[tuple[float, int]]) -> float | Unknown:
    """Bytes a second by which the available space shrank, over all samples (t, available bytes)."""
    if len(samples) < 2 or samples[-1][0] - samples[0][0] < LEAST_S:
        return Unknown("observed for too short a time")
    (start, before), (end, after) = samples[0], samples[-1]
    return (before - after) / (end - start)


def seconds_to_full(samples: Sequence[tuple[float, int]]) -> float | Unknown:
    """Seconds until nothing is available at the observed rate; unknown when the disk does not fill."""
    rate = fill_rate(samples)
    if isinstance(rate, Unknown):
        return rate
    if rate <= 0:
        return Unknown("the disk is not filling")
    return samples[-1][1] / rate
