"""Statistics of benchmark samples, without numpy. Undefined is `Unknown`, never zero.

Sources: linear-interpolation percentiles as numpy's default; Student's t through the regularised incomplete beta
function (continued fraction, Lentz); Welch's interval; order-statistic ranks from the binomial distribution.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import msgspec

from console.values import Unknown, known

Number = float | Unknown

NO_SAMPLES = Unknown("no samples")
UNSTABLE_CV = 0.10
MEANINGFUL_CHANGE = 0.02
STATIONARY_SPREAD = 0.05


def percentile(values: Sequence[float], p: float) -> Number:
    """The p-th percentile (0…100) by linear interpolation between order statistics."""
    return percentiles(values, (p,))[0]


def percentiles(values: Sequence[float], ps: Sequence[float]) -> list[Number]:
    """Several percentiles of the same samples, sorted once."""
    if not values:
        return [NO_SAMPLES for _ in ps]
    ordered = sorted(values)
    return [_interpolate(ordered, p) for p in ps]


def _interpolate(ordered: Sequence[float], p: float) -> float:
    position = (len(ordered) - 1) * p / 100
    low = math.floor(position)
    high = min(low + 1, len(ordered) - 1)
    value = ordered[low] + (ordered[high] - ordered[low]) * (position - low)
    return min(max(value, ordered[low]), ordered[high])


def mean(values: Sequence[float]) -> Number:
    return math.fsum(values) / len(values) if values else NO_SAMPLES


def deviation(values: Sequence[float]) -> Number:
    """Sample standard deviation (n - 1)."""
    if len(values) < 2:
        return Unknown("fewer than two samples")
    centre = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


class Repeats(msgspec.Struct, frozen=True):
    """Mean of n repeats with its 95 % t interval; unstable above a coefficient of variation of 10 %."""

    n: int
    mean: Number
    sd: Number
    cv: Number
    ci: tuple[float, float] | Unknown
    unstable: bool


def repeats(values: Sequence[float], confidence: float = 0.95) -> Repeats:
    centre, sd = mean(values), deviation(values)
    if not known(centre) or not known(sd):
        return Repeats(len(values), centre, sd, sd, Unknown("fewer than two repeats"), False)
    cv: Number = sd / abs(centre) if centre else Unknown("the mean is zero")
    half = student_t_quantile((1 + confidence) / 2, len(values) - 1) * sd / math.sqrt(len(values))
    return Repeats(len(values), centre, sd, cv, (centre - half, centre + half), known(cv) and cv > UNSTABLE_CV)


class Difference(msgspec.Struct, frozen=True):
    """B against A. `rel` is the change of the mean over A's mean; `ci` is Welch's interval of the difference."""

    rel: Number
    df: Number
    ci: tuple[float, float] | Unknown
    verdict: str


def welch(a: Sequence[float], b: Sequence[float], confidence: float = 0.95) -> Difference:
    """Verdict `faster`/`slower` only when the interval excludes 0 and the change is at least 2 %."""
    mean_a, mean_b, sd_a, sd_b = mean(a), mean(b), deviation(a), deviation(b)
    if not known(mean_a) or not known(mean_b) or mean_a == 0:
        return Difference(NO_SAMPLES, NO_SAMPLES, NO_SAMPLES, "no difference shown")
    rel = (mean_b - mean_a) / mean_a
    if not known(sd_a) or not known(sd_b):
        few = Unknown("an interval needs two repeats on each side")
        return Difference(rel, few, few, "no difference shown")
    df, half = _welch_half(sd_a**2 / len(a), sd_b**2 / len(b), len(a), len(b), confidence)
    low, high = mean_b - mean_a - half, mean_b - mean_a + half
    shown = (low > 0 or high < 0) and abs(rel) >= MEANINGFUL_CHANGE
    return Difference(rel, df, (low, high), ("faster" if rel > 0 else "slower") if shown else "no difference shown")


def _welch_half(var_a: float, var_b: float, n_a: int, n_b: int, confidence: float) -> tuple[float, float]:
    """Welch–Satterthwaite degrees of freedom and the half width of the interval."""
    total = var_a + var_b
    if total == 0:
        return float(n_a + n_b - 2), 0.0
    df = total**2 / (var_a**2 / (n_a - 1) + var_b**2 / (n_b - 1))
    return df, student_t_quantile((1 + confidence) / 2, df) * math.sqrt(total)


def smallest_n(p: float, confidence: float) -> int:
    """Samples needed before `the p-quantile is within the limit` can be said with no violation: p^n <= 1 - conf."""
    return math.ceil(math.log(1 - confidence) / math.log(p) - 1e-12)


def quantile_ranks(n: int, p: float, confidence: float = 0.95) -> tuple[int | None, int | None]:
    """1-based order-statistic ranks of the interval of the p-quantile; None where there is no bound."""
    tail = (1 - confidence) / 2
    below, low, high = 0.0, None, None
    for k in range(n + 1):
        below += math.exp(
            math.lgamma(n + 1)
            - math.lgamma(k + 1)
            - math.lgamma(n - k + 1)
            + k * math.log(p)
            + (n - k) * math.log1p(-p)
        )
        if below <= tail:
            low = k + 1
        if high is None and below >= 1 - tail:
            high = k + 1
    return (low if low is not None and low <= n else None), (high if high is not None and high <= n else None)


def stationary(bins: Sequence[float], count: int = 3, spread: float = STATIONARY_SPREAD) -> bool:
    """The last bins lie within 5 % of each other: (max - min) / mean."""
    last = list(bins[-count:])
    centre = math.fsum(last) / len(last) if last else 0.0
    return len(last) == count and centre > 0 and (max(last) - min(last)) / centre < spread


class BatchMeans(msgspec.Struct, frozen=True):
    """95 % interval of a window's rate from its batches, and the lag-1 autocorrelation of the batches."""

    ci: tuple[float, float] | Unknown
    relative_half_width: Number
    lag1: Number


def batch_means(batches: Sequence[float]) -> BatchMeans:
    """The interval is too narrow when the batches are correlated: `lag1` above 0.3 asks for longer batches."""
    summary = repeats(batches)
    if not known(summary.mean) or not known(summary.ci) or summary.mean == 0:
        few = Unknown("fewer than two batches with tokens")
        return BatchMeans(few, few, few)
    offsets = [value - summary.mean for value in batches]
    power = math.fsum(offset**2 for offset in offsets)
    lag1 = math.fsum(x * y for x, y in itertools.pairwise(offsets)) / power if power else 0.0
    return BatchMeans(summary.ci, (summary.ci[1] - summary.ci[0]) / 2 / summary.mean, lag1)


def student_t_quantile(p: float, df: float) -> float:
    """Quantile of Student's t for any df > 0, by bisection of the distribution function."""
    if p < 0.5:
        return -student_t_quantile(1 - p, df)
    return _bisect(lambda t: 1 - 0.5 * _incomplete_beta(df / 2, 0.5, df / (df + t * t)), p)


def _bisect(cdf: Callable[[float], float], p: float) -> float:
    low, high = 0.0, 1.0
    while cdf(high) < p and high < 1e12:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if cdf(middle) < p else (low, middle)
    return (low + high) / 2


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """Regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))
    if x < (a + 1) / (a + b + 2):
        return scale * _beta_fraction(a, b, x) / a
    return 1 - scale * _beta_fraction(b, a, 1 - x) / b


def _beta_fraction(a: float, b: float, x: float) -> float:
    tiny = 1e-300
    c, d = 1.0, 1 / ((1 - (a + b) * x / (a + 1)) or tiny)
    result = d
    for m in range(1, 500):
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + numerator * d) or tiny)
            c = (1 + numerator / c) or tiny
            result *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return result
