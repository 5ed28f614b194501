"""What the importers share: numbers that may be missing, and the run that they make."""

from __future__ import annotations

from typing import Any

import msgspec

from console.bench.flags import PointFacts, flags
from console.bench.points import NOT_TOLD, Percentiles, Point
from console.bench.stats import Number
from console.values import Unknown, known


class ImportFormatError(ValueError):
    """The file is none of the known results."""


class ImportedRun(msgspec.Struct, frozen=True):
    """`setup` and `treatment` hold what the tool told; `remarks` say what was left out and why."""

    source: str
    points: tuple[Point, ...]
    setup: dict[str, Any] = {}
    treatment: dict[str, Any] = {}
    remarks: tuple[str, ...] = ()


def number(value: Any) -> Number:
    """A finite number, else unknown."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    return NOT_TOLD


def count(value: Any) -> int | Unknown:
    return value if isinstance(value, int) and not isinstance(value, bool) else NOT_TOLD


def scaled(value: Number, factor: float) -> Number:
    return value * factor if known(value) else value


def inverse(ms: Number) -> Number:
    """Tokens per second of a user from milliseconds per token."""
    return 1000 / ms if known(ms) and ms > 0 else NOT_TOLD


def ratio(top: Number, bottom: Number) -> Number:
    return top / bottom if known(top) and known(bottom) and bottom > 0 else NOT_TOLD


def flat(row: dict[str, Any], name: str) -> Percentiles:
    """`median_<name>_ms`, `p95_…`, `p99_…` of a flat row."""
    p50, p95, p99 = (number(row.get(f"{head}_{name}_ms")) for head in ("median", "p95", "p99"))
    return Percentiles(p50, p95, p99)


def flagged(point: Point, facts: PointFacts) -> Point:
    """The point with the flags that follow from what the tool told."""
    raised = flags(facts)
    return msgspec.structs.replace(
        point, flags=tuple(flag.name for flag in raised), causes=tuple(flag.cause for flag in raised)
    )


def numbered(points: list[Point]) -> tuple[Point, ...]:
    """Repeats count up per concurrency, in the order of the file."""
    seen: dict[int, int] = {}
    result = []
    for point in points:
        repeat = seen.get(point.concurrency, 0)
        seen[point.concurrency] = repeat + 1
        name = f"c{point.concurrency:04d}-r{repeat}"
        result.append(msgspec.structs.replace(point, repeat=repeat, name=name))
    return tuple(result)
