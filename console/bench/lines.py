"""Comparisons as lines of text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from console.bench.compare import Comparison
from console.bench.report import shown
from console.values import known


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns as wide as they need to be."""
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in (head, *rows)
    ]


COMPARE_HEAD = ("C", "A tok/s", "B tok/s", "change", "verdict", "remark")


def comparison_rows(seen: Comparison) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for row in seen.rows:
        rate = row.changes[0]
        change = f"{rate.rel:+.1%}" if known(rate.rel) and row.verdict != "no verdict" else "–"
        at = " ".join(filter(None, (str(row.concurrency), row.variant)))
        rows.append((at, shown(rate.a), shown(rate.b), change, row.verdict, row.why))
    return rows


def comparison_lines(seen: Comparison) -> list[str]:
    """B against A as a table under what was done differently."""
    lines = [f"A {seen.a}", f"B {seen.b}"]
    lines += [f"  {name}: {_text(a)} → {_text(b)}" for name, (a, b) in seen.treatment.items()]
    lines += [f"  not comparable: {reason}" for reason in seen.refusals]
    lines += [f"  differs also in {', '.join(seen.noted)}"] * bool(seen.refusals and seen.noted)
    return lines + (table(COMPARE_HEAD, comparison_rows(seen)) if seen.rows else [])


def diff_lines(changed: Mapping[str, tuple[Any, Any]]) -> list[str]:
    return [f"  {name}: {_text(a)} → {_text(b)}" for name, (a, b) in changed.items()]


def _text(value: Any) -> str:
    return "unknown" if value is None else str(value)
