"""Axes of a chart: ranges, ticks, places. Pure; linear, or logarithmic with ticks where the data are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_TINY = 1e-200


@dataclass(frozen=True, slots=True)
class Scale:
    """From a value to a place 0…1. On a logarithmic scale values ≤ 0 have no place."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float | None:
        """Where the value lies between low (0) and high (1); None when it has no place."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return None
        return math.log(value / self.low) / math.log(self.high / self.low)


def scale_for(
    values: Iterable[float], log: bool = False, low: float | None = None, high: float | None = None, zero: bool = False
) -> Scale:
    """A scale that holds the values, widened to round numbers when linear; `zero` starts it at 0."""
    finite = [value for value in values if math.isfinite(value) and (value > 0 or not log)]
    least = low if low is not None else min(finite, default=1.0 if log else 0.0)
    most = high if high is not None else max(finite, default=10.0 if log else 1.0)
    if log:
        least = max(least, 1e-12)
        return Scale(least, most if most > least else least * 2, log=True)
    if zero and low is None:
        least = min(0.0, least)
    if most - least <= max(abs(least) * 1e-9, _TINY):  # one value, or as good as one
        most = least + (abs(least) if abs(least) > _TINY else 1.0)
    step = nice_step((most - least) / 8)
    if low is None:
        least = math.floor(least / step) * step
    if high is None:
        most = math.ceil(most / step - 1e-9) * step
    return Scale(least, most)


def nice_step(raw: float) -> float:
    """The smallest 1, 2, 2.5 or 5 times a power of ten that is not below `raw`."""
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * (1 - 1e-9))


def ticks(scale: Scale, count: int, values: Sequence[float] = ()) -> list[float]:
    """About `count` tick values, low to high. A logarithmic scale takes the data's own values when they are few, and
    round ones where it holds too few powers."""
    if not scale.log:
        return _round_ticks(scale, count)
    own = sorted({value for value in values if value > 0})
    if 0 < len(own) <= max(2, count):
        return own
    base = 10.0 if scale.high / scale.low >= 10.0 ** max(2, count / 2) else 2.0
    first, last = math.ceil(math.log(scale.low, base) - 1e-9), math.floor(math.log(scale.high, base) + 1e-9)
    stride = max(1, -(-(last - first + 1) // max(1, count)))
    powers = [base**power for power in range(first, last + 1, stride)]
    return powers if len(powers) >= min(3, count) else _round_ticks(scale, count)


def _round_ticks(scale: Scale, count: int) -> list[float]:
    step = nice_step((scale.high - scale.low) / max(1, count))
    first, last = math.ceil(scale.low / step - 1e-9), math.floor(scale.high / step + 1e-9)
    return [index * step for index in range(first, last + 1)]


def tick_text(value: float) -> str:
    """A tick's value as short as it can be read: `0`, `0.25`, `64`, `1.5k`, `6k`, `2M`."""
    size = abs(value)
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= unit:
            return f"{value / (1e3 if name == 'k' else unit):.4g}{name}"
    return f"{value:.4g}"
