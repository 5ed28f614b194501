"""B against A: first whether it may be said, then by how much and how sure.

A comparison needs the same question on both sides (`comparable`), counts only points without blocking flags, and says
faster or slower only when Welch's interval excludes 0 and the change is at least 2 %. A comparison that is refused
still shows both sides, without a percentage.
"""

from __future__ import annotations

from typing import Any

import msgspec

from console.bench import comparable
from console.bench.flags import blocking
from console.bench.points import Point
from console.bench.stats import Number, mean, welch
from console.bench.store import Manifest, Run
from console.values import Unknown, first_unknown, known

METRICS: dict[str, tuple[str, ...]] = {
    "tok_s": ("output_tok_s",),
    "tok_s_gpu": ("tok_s_gpu",),
    "user_tok_s": ("user_tok_s",),
    "ttft_p50": ("ttft_ms", "p50"),
    "ttft_p95": ("ttft_ms", "p95"),
    "tpot_p50": ("tpot_ms", "p50"),
    "accept_length": ("accept_length",),
}
MISSING = Unknown("not measured on this side")

Key = tuple[int, str]


def groups(points: tuple[Point, ...]) -> dict[Key, list[Point]]:
    """The repeats of each (concurrency, condition), ascending. Aborted points are left out."""
    found: dict[Key, list[Point]] = {}
    for point in sorted(points, key=lambda one: (one.concurrency, one.variant, one.offered)):
        if not point.aborted:
            found.setdefault((point.concurrency, point.condition), []).append(point)
    return found


def values(points: list[Point], metric: str) -> list[float]:
    """The known values of a metric over repeats."""
    return [value for value in (_value(point, metric) for point in points) if known(value)]


def _value(point: Point, metric: str) -> Number:
    value: Any = point
    for name in METRICS[metric]:
        value = getattr(value, name)
    return value  # type: ignore[no-any-return]


def estimate(points: list[Point], metric: str) -> Number:
    """The point estimate: the mean over repeats; unknown when a repeat does not know it."""
    missing = first_unknown(*(_value(point, metric) for point in points))
    if missing is not None:
        return missing
    return mean(values(points, metric)) if points else MISSING


class Change(msgspec.Struct, frozen=True):
    """One metric at one concurrency. `rel` is the change over A, unknown when it may not be said."""

    metric: str
    a: Number
    b: Number
    rel: Number


class Row(msgspec.Struct, frozen=True):
    """One common concurrency. `verdict`: faster, slower, no difference shown, no verdict, side by side."""

    concurrency: int
    variant: str
    verdict: str
    why: str
    changes: tuple[Change, ...]
    ci: tuple[float, float] | Unknown = Unknown("no interval")


class Comparison(msgspec.Struct, frozen=True):
    a: str
    b: str
    refusals: tuple[str, ...]
    treatment: dict[str, tuple[Any, Any]]
    noted: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def refused(self) -> bool:
        return bool(self.refusals)


def compare(a: Run, b: Run) -> Comparison:
    """All common concurrencies of two runs; of two that may not be compared everything, side by side."""
    refusals = refusal_reasons(a.manifest, b.manifest)
    noted = tuple(comparable.noted(*({**one.manifest.machine, **one.manifest.treatment} for one in (a, b))))
    left, right = groups(a.points), groups(b.points)
    common = [key for key in left if key in right]
    if not common:
        sides = [", ".join(dict.fromkeys(str(users) for users, _ in side)) or "none" for side in (left, right)]
        refusals += (f"no concurrency was measured on both sides: C = {sides[0]} against C = {sides[1]}",)
    trees = a.manifest.tree or b.manifest.tree
    shown = sorted({*left, *right}) if refusals else common
    rows = tuple(_row(key, left.get(key, []), right.get(key, []), bool(refusals), noted, trees) for key in shown)
    return Comparison(a.id, b.id, refusals, treatment(a.manifest, b.manifest), noted, rows)


def refusal_reasons(a: Manifest, b: Manifest) -> tuple[str, ...]:
    """Why the two may not be compared, as sentences; empty when they may."""
    return tuple(comparable.refusal_sentence(key, a.setup, b.setup) for key in comparable.refusals(a.setup, b.setup))


def treatment(a: Manifest, b: Manifest) -> dict[str, tuple[Any, Any]]:
    """What was done differently."""
    names = comparable.treatment_names([a.treatment, b.treatment])
    return {name: (a.treatment.get(name), b.treatment.get(name)) for name in names}


def _row(key: Key, a: list[Point], b: list[Point], refused: bool, noted: tuple[str, ...], trees: bool) -> Row:
    changes = tuple(_change(metric, a, b, refused) for metric in METRICS)
    if refused:
        return Row(*key, "side by side", "", changes)
    spoiled = sorted({flag for point in (*a, *b) for flag in blocking(point.flags)})
    if spoiled:
        return Row(*key, "no verdict", "flagged: " + ", ".join(spoiled), changes)
    judged = welch(values(a, "tok_s"), values(b, "tok_s"))
    why = f"differs also in {', '.join(noted)}" if noted else ""
    if not known(judged.ci):
        why = "; ".join(filter(None, (judged.ci.reason, why)))
    if trees:
        why = "; ".join(filter(None, (why, "trees are judged by accept length and tok/s, not by acceptance rate")))
    return Row(*key, judged.verdict, why, changes, judged.ci)


def _change(metric: str, a: list[Point], b: list[Point], refused: bool) -> Change:
    left, right = estimate(a, metric), estimate(b, metric)
    if refused:
        return Change(metric, left, right, Unknown("the runs may not be compared"))
    return Change(metric, left, right, relative(left, right))


def relative(a: Number, b: Number) -> Number:
    if not known(a) or not known(b):
        return a if not known(a) else b
    return (b - a) / abs(a) if a else Unknown("A is zero")


def differences(a: Manifest, b: Manifest) -> dict[str, tuple[Any, Any]]:
    """Every field of setup, treatment, machine and load that is not the same: the diff of two manifests."""
    result: dict[str, tuple[Any, Any]] = {}
    for part in ("setup", "treatment", "machine", "load"):
        left, right = getattr(a, part), getattr(b, part)
        for name in sorted({*left, *right}):
            if left.get(name) != right.get(name):
                result[f"{part}.{name}"] = (left.get(name), right.get(name))
    return result
