"""What a drafter brings: speed-up over the autoregressive baseline at each concurrency, by total time.

Where both sides know their categories, each category is a prompt set of the total-time ratio; otherwise both sides
produced tokens at a rate, and equal tokens take times in the inverse ratio. Random prompts give no speed-up.
"""

from __future__ import annotations

import math

import msgspec

from console.bench.acceptance import Timed, crossover, speedup
from console.bench.compare import Key, estimate, groups, refusal_reasons, values
from console.bench.flags import blocking
from console.bench.points import Point
from console.bench.stats import Number, deviation, mean, student_t_quantile
from console.bench.store import Run
from console.values import Unknown, known


class Gain(msgspec.Struct, frozen=True):
    """At one concurrency: by total time, per user, the interval of the rate's ratio, and the accept length."""

    concurrency: int
    variant: str
    total: Number
    per_user: Number
    ci: tuple[float, float] | Unknown
    accept_length: Number


class SpeedUpCurve(msgspec.Struct, frozen=True):
    """`refusals`: why no number is printed. `crossover`: first C from which it stays below 1, None for never."""

    baseline: str
    run: str
    refusals: tuple[str, ...]
    gains: tuple[Gain, ...] = ()
    crossover: int | None = None


def curve(baseline: Run, run: Run) -> SpeedUpCurve:
    """The speed-up of a run with a drafter over a run without."""
    refusals = list(refusal_reasons(baseline.manifest, run.manifest))
    if baseline.manifest.drafter:
        refusals.append("the baseline has a drafter itself")
    if not run.manifest.drafter:
        refusals.append("the run has no drafter")
    if baseline.manifest.random_prompts or run.manifest.random_prompts:
        refusals.append("random prompts say nothing about a drafter")
    if refusals:
        return SpeedUpCurve(baseline.id, run.id, tuple(refusals))
    left, right = groups(baseline.points), groups(run.points)
    gains = tuple(_gain(key, left[key], right[key]) for key in left if key in right)
    shown = [(gain.concurrency, gain.total) for gain in gains if known(gain.total)]
    one_variant = len({gain.variant for gain in gains}) == 1
    return SpeedUpCurve(baseline.id, run.id, (), gains, crossover(shown) if one_variant else None)


def _gain(key: Key, ar: list[Point], spec: list[Point]) -> Gain:
    spoiled = sorted({flag for point in (*ar, *spec) for flag in blocking(point.flags)})
    length = estimate(spec, "accept_length")
    if spoiled:
        none = Unknown("flagged: " + ", ".join(spoiled))
        return Gain(*key, none, none, none, length)
    users = _ratio(estimate(spec, "user_tok_s"), estimate(ar, "user_tok_s"))
    return Gain(*key, _total(ar, spec), users, _interval(values(ar, "tok_s"), values(spec, "tok_s")), length)


def _total(ar: list[Point], spec: list[Point]) -> Number:
    names = set.intersection(*(set(point.categories) for point in (*ar, *spec)))
    timed = [_timed(name, ar, spec) for name in sorted(names)]
    if timed and all(item.ar_tps > 0 and item.spec_tps > 0 for item in timed):
        return speedup(timed).speedup
    return _ratio(estimate(spec, "tok_s"), estimate(ar, "tok_s"))


def _timed(name: str, ar: list[Point], spec: list[Point]) -> Timed:
    """Tokens of the category and the speed of a request of it, each over its own busy time."""
    tokens = sum(point.categories[name].tokens for point in ar)
    return Timed(tokens, _speed(name, spec), _speed(name, ar))


def _speed(name: str, points: list[Point]) -> float:
    busy = sum(point.categories[name].busy_s for point in points)
    return sum(point.categories[name].tokens for point in points) / busy if busy > 0 else 0.0


def _ratio(top: Number, bottom: Number) -> Number:
    if not known(top) or not known(bottom):
        return top if not known(top) else bottom
    return top / bottom if bottom > 0 else Unknown("the baseline is zero")


def _interval(ar: list[float], spec: list[float]) -> tuple[float, float] | Unknown:
    """95 % interval of the ratio of rates, through Welch's interval of the logarithms."""
    if min([*ar, *spec], default=0.0) <= 0:
        return Unknown("a rate is missing")
    a, b = [math.log(rate) for rate in ar], [math.log(rate) for rate in spec]
    sd_a, sd_b, mean_a, mean_b = deviation(a), deviation(b), mean(a), mean(b)
    if not (known(sd_a) and known(sd_b) and known(mean_a) and known(mean_b)):
        return Unknown("an interval needs two repeats on each side")
    var_a, var_b = sd_a**2 / len(a), sd_b**2 / len(b)
    spread = var_a + var_b
    df = spread**2 / (var_a**2 / (len(a) - 1) + var_b**2 / (len(b) - 1)) if spread else len(a) + len(b) - 2
    half = student_t_quantile(0.975, df) * math.sqrt(spread)
    centre = mean_b - mean_a
    return math.exp(centre - half), math.exp(centre + half)
