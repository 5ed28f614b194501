"""When to start and when to end a window: pure arithmetic over bins and batches."""

from __future__ import annotations

import math
from collections.abc import Sequence

SPREAD = 0.05
BINS = 3
BATCHES = 10
T_9 = 2.262157  # 97.5 % quantile of Student's t with 9 degrees of freedom
WIDTH = 0.03
LAG1 = 0.3
TREND_T = 3.0
SLOW_TTFT_S = 2.5


def stationary(bins: Sequence[float]) -> bool:
    """The last three bins lie within 5 %: (max - min) / mean."""
    last = bins[-BINS:]
    centre = sum(last) / BINS
    return len(last) == BINS and centre > 0 and (max(last) - min(last)) / centre < SPREAD


def converged(batches: Sequence[float]) -> bool:
    """The 95 % interval of ten batches is at most ±3 % wide, and neighbouring batches are not correlated."""
    count = len(batches)
    centre = sum(batches) / count
    offsets = [value - centre for value in batches]
    power = sum(offset * offset for offset in offsets)
    if centre <= 0:
        return False
    if power == 0:
        return True
    half = T_9 * math.sqrt(power / (count - 1) / count)
    lag1 = sum(x * y for x, y in zip(offsets, offsets[1:])) / power
    return half / centre <= WIDTH and lag1 < LAG1


def rising(values: Sequence[float]) -> bool:
    """The slope over time is clearly above 0: least squares, t above 3."""
    count = len(values)
    if count < 5:
        return False
    mx, my = (count - 1) / 2, sum(values) / count
    spread = sum((i - mx) ** 2 for i in range(count))
    slope = sum((i - mx) * (y - my) for i, y in enumerate(values)) / spread
    error = sum((y - my - slope * (i - mx)) ** 2 for i, y in enumerate(values))
    deviation = math.sqrt(error / (count - 2) / spread)
    return slope > 0 and (deviation == 0 or slope / deviation > TREND_T)


def saturated(active: Sequence[float], ttft_s: Sequence[float]) -> bool:
    """Open loop: the server falls behind. Active requests and TTFT both rise, and TTFT is beyond 2.5 s."""
    return bool(ttft_s) and ttft_s[-1] > SLOW_TTFT_S and rising(active) and rising(ttft_s)


def percentile(values: Sequence[float], p: float) -> float | None:
    """Linear interpolation; None without values."""
    if not values:
        return None
    ordered = sorted(values)
    place = (len(ordered) - 1) * p / 100
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
