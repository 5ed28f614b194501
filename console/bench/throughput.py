"""Rates, concurrency, goodput, energy and frontiers over many requests. Windows are half-open [a, b)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import msgspec

from console.bench.stats import Number
from console.bench.timeline import Request
from console.values import Unknown, known

KNEE_TAIL_SLOPE = 0.25
KNEE_PEAK_SHARE = 0.85


class Window(msgspec.Struct, frozen=True):
    """Tokens whose event falls into the window. `bins` are 1-second bins of tokens; a remainder joins the last."""

    tokens: int
    tps: float
    bins: tuple[int, ...]
    peak_tps: float


def window(requests: Sequence[Request], a: float, b: float) -> Window:
    """Tokens of all requests, failed and cut ones too; the bins partition the window, so peak >= mean."""
    count = max(1, math.floor(b - a))
    bins = [0] * count
    for request in requests:
        for t, n in zip(request.times, request.tokens, strict=True):
            if a <= t < b:
                bins[min(int(t - a), count - 1)] += n
    lengths = [1.0] * (count - 1) + [b - a - (count - 1)]
    peak = max(tokens / length for tokens, length in zip(bins, lengths, strict=True))
    rate = sum(bins) / (b - a)
    return Window(sum(bins), rate, tuple(bins), max(peak, rate))


def batches(requests: Sequence[Request], a: float, b: float, count: int = 10) -> list[float]:
    """The window's rate in `count` equal batches: the material of its interval."""
    sums = [0] * count
    for request in requests:
        for t, n in zip(request.times, request.tokens, strict=True):
            if a <= t < b:
                sums[min(int((t - a) / (b - a) * count), count - 1)] += n
    return [tokens * count / (b - a) for tokens in sums]


def input_tokens(requests: Sequence[Request], a: float, b: float) -> Number:
    """Prompt tokens of the requests whose first token falls into the window."""
    total = 0
    for request in requests:
        if request.times and a <= request.times[0] < b:
            if not known(request.prompt_tokens):
                return request.prompt_tokens
            total += request.prompt_tokens
    return total


class Concurrency(msgspec.Struct, frozen=True):
    mean: float
    peak: int


def concurrency(intervals: Sequence[tuple[float, float]], a: float, b: float) -> Concurrency:
    """Mean = ∫active dt / window; peak by sweep line over half-open intervals, departures before arrivals."""
    clipped = [(max(start, a), min(end, b)) for start, end in intervals]
    clipped = [(start, end) for start, end in clipped if start < end]
    steps = sorted([(start, 1) for start, _ in clipped] + [(end, -1) for _, end in clipped])
    active = peak = 0
    for _, step in steps:
        active += step
        peak = max(peak, active)
    return Concurrency(math.fsum(end - start for start, end in clipped) / (b - a), peak)


class Judged(msgspec.Struct, frozen=True):
    """What an SLO looks at, in seconds."""

    ok: bool
    ttft: Number
    tpot: Number
    e2e: Number


class Goodput(msgspec.Struct, frozen=True):
    good: int
    sent: int
    goodput: Number
    attainment: Number
    attainment_by_slo: dict[str, Number]
    tpot_undefined: int


def _meets(request: Judged, name: str, limit: float) -> bool:
    """Limits are inclusive. An undefined TPOT is judged on the other limits; a failed request meets nothing."""
    value: Number = getattr(request, name)
    if not request.ok:
        return False
    return value <= limit if known(value) else name == "tpot"


def goodput(requests: Sequence[Judged], slo: dict[str, float], duration: float) -> Goodput:
    """Requests that meet ALL limits (`ttft`, `tpot`, `e2e`, seconds) per second; attainment over SENT."""
    sent = len(requests)
    good = sum(all(_meets(request, name, limit) for name, limit in slo.items()) for request in requests if request.ok)
    none_sent = Unknown("nothing was sent")
    by_slo: dict[str, Number] = {
        name: sum(_meets(request, name, limit) for request in requests) / sent if sent else none_sent
        for name, limit in slo.items()
    }
    undefined = sum(request.ok and not known(request.tpot) for request in requests)
    attained: Number = good / sent if sent else none_sent
    return Goodput(good, sent, good / duration if sent else none_sent, attained, by_slo, undefined)


class Energy(msgspec.Struct, frozen=True):
    joules: Number
    joules_per_token: Number


def energy(
    samples: Sequence[tuple[float, Sequence[float | None]]],
    a: float,
    b: float,
    tokens: int,
    gpus: int,
    max_gap: float,
) -> Energy:
    """Trapezoid of the summed watts over the window, edges interpolated; no number when a GPU or a while is missing."""
    before = [sample for sample in samples if sample[0] <= a]
    after = [sample for sample in samples if sample[0] >= b]
    if not before or not after:
        return Energy(Unknown("not_covered"), Unknown("not_covered"))
    used = [before[-1], *(sample for sample in samples if a < sample[0] < b), after[0]]
    powers: list[tuple[float, float]] = []
    for t, watts in used:
        present = [watt for watt in watts if watt is not None]
        if len(present) != gpus:
            return Energy(Unknown("gpu_missing"), Unknown("gpu_missing"))
        powers.append((t, sum(present)))
    if any(later[0] - earlier[0] > max_gap for earlier, later in itertools.pairwise(powers)):
        return Energy(Unknown("gap"), Unknown("gap"))
    joules = math.fsum(_slice(*pair, a, b) for pair in itertools.pairwise(powers))
    return Energy(joules, joules / tokens if tokens else Unknown("no tokens"))


def _slice(left: tuple[float, float], right: tuple[float, float], a: float, b: float) -> float:
    """Joules of one straight piece, cut to the window."""
    start, end = max(left[0], a), min(right[0], b)
    if end <= start:
        return 0.0
    slope = (right[1] - left[1]) / (right[0] - left[0])
    return (end - start) * (left[1] + slope * ((start + end) / 2 - left[0]))


class Headline(msgspec.Struct, frozen=True):
    """Shares of an aggregate rate; `per user` and `ms per token` are approximations and are labelled ≈."""

    tps_per_gpu: Number
    tps_per_user_approx: float
    ms_per_token_approx: Number


def headline(tps: float, users: int, gpus: int) -> Headline:
    per_gpu: Number = tps / gpus if gpus else Unknown("the GPUs of the server are not known")
    return Headline(per_gpu, tps / users, 1000 * users / tps if tps else Unknown("no tokens"))


def pareto(points: Sequence[tuple[str, float, float]]) -> list[str]:
    """Labels of the points that no other point beats in x and y at once, sorted by falling x."""
    frontier: list[str] = []
    best = -math.inf
    for label, _, y in sorted(points, key=lambda point: (-point[1], -point[2])):
        if y > best:
            frontier.append(label)
            best = y
    return frontier


def knee(points: Sequence[tuple[float, float]]) -> Number:
    """The x where a throughput curve bends (users, or the offered rate): best fit of two lines that share a point.

    It counts only with at least 5 points, a tail slope of at most 25 % of the first one, and at least 85 % of
    the peak (the rule of guidellm).
    """
    ordered = sorted(points)
    if len(ordered) < 5:
        return Unknown("fewer than five points")
    fits = [(_line(ordered[: i + 1]), _line(ordered[i:]), i) for i in range(1, len(ordered) - 1)]
    head, tail, i = min(fits, key=lambda fit: fit[0][1] + fit[1][1])
    if tail[0] > KNEE_TAIL_SLOPE * head[0] or ordered[i][1] < KNEE_PEAK_SHARE * max(y for _, y in ordered):
        return Unknown("the curve still rises")
    return ordered[i][0]


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Least squares: slope and sum of squared residuals."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    spread = math.fsum((x - mx) ** 2 for x, _ in points)
    slope = math.fsum((x - mx) * (y - my) for x, y in points) / spread if spread else 0.0
    return slope, math.fsum((y - my - slope * (x - mx)) ** 2 for x, y in points)
