"""How long until a disk is full, from what was written in the last minutes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from console.values import Unknown, known

LEAST_S = 20.0
WINDOW_S = 120.0


def fill_rate(samples: Sequence[tuple[float, int]]) -> float | Unknown:
    """Bytes a second by which the available space shrinks, over the last two minutes of (t, available bytes).

    The median of the slopes between samples half the window apart (Theil-Sen, thinned): a file that is deleted or
    a single odd reading moves a mean, and not this.
    """
    recent = [sample for sample in samples if samples[-1][0] - sample[0] <= WINDOW_S]
    if len(recent) < 2 or recent[-1][0] - recent[0][0] < LEAST_S:
        return Unknown("observed for too short a time")
    half = len(recent) // 2
    pairs = zip(recent, recent[half:], strict=False)
    return median((before - after) / (end - start) for (start, before), (end, after) in pairs if end > start)


def seconds_to_full(samples: Sequence[tuple[float, int]]) -> float | Unknown:
    """Seconds until nothing is available at the observed rate; unknown when the disk does not fill."""
    rate = fill_rate(samples)
    if not known(rate):
        return rate
    if rate <= 0:
        return Unknown("the disk is not filling")
    return samples[-1][1] / rate
