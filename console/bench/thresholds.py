"""`--fail-if`: a limit on the change from A to B, for machines that must not let a slow version pass."""

from __future__ import annotations

import re

import msgspec

from console.bench.compare import METRICS, Comparison, relative
from console.values import known

_TERM = re.compile(r"([a-z0-9_]+)\s*([<>])\s*([+-]?\d+(?:\.\d+)?)\s*(%?)")


class ThresholdError(ValueError):
    """The expression is none; the text says what is expected."""


class Threshold(msgspec.Struct, frozen=True):
    """Fails when the change is beyond the limit. `percent`: of A; otherwise in the metric's own unit."""

    metric: str
    below: bool
    limit: float
    percent: bool

    def __str__(self) -> str:
        return f"{self.metric}{'<' if self.below else '>'}{self.limit:+g}{'%' if self.percent else ''}"


def parse(expression: str) -> tuple[Threshold, ...]:
    """`METRIC(<|>)±N[%]`, several with a comma between them, any of which fails. Raises ThresholdError."""
    terms = []
    for text in expression.split(","):
        match = _TERM.fullmatch(text.strip())
        if match is None or match[1] not in METRICS:
            raise ThresholdError(f"{text.strip()!r} is no limit: METRIC(<|>)±N[%], METRIC one of {', '.join(METRICS)}")
        terms.append(Threshold(match[1], match[2] == "<", float(match[3]), match[4] == "%"))
    return tuple(terms)


def violations(thresholds: tuple[Threshold, ...], comparison: Comparison) -> list[str]:
    """One sentence for each limit and concurrency that fails. What is not known cannot pass."""
    found = []
    for row in comparison.rows:
        at = f"C={row.concurrency}" + (f" {row.variant}" if row.variant else "")
        for limit in thresholds:
            change = next(item for item in row.changes if item.metric == limit.metric)
            if not known(change.a) or not known(change.b):
                found.append(f"{limit} at {at}: {limit.metric} is not known on both sides")
                continue
            rel = relative(change.a, change.b)
            if limit.percent and not known(rel):
                found.append(f"{limit} at {at}: A is zero")
                continue
            moved = rel * 100 if limit.percent and known(rel) else change.b - change.a
            if (moved < limit.limit) if limit.below else (moved > limit.limit):
                found.append(f"{limit} at {at}: {change.a:.4g} → {change.b:.4g} ({moved:+.2f}{'%' * limit.percent})")
    return found
