"""A measured row against its budget, and the table of them: as text, or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

HEAD = ("measure", "value", "budget", "against, or how", "")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """`value` and `budget` are in `unit`; a ratio has none. A text as value says why nothing was measured.

    `base`: what a ratio is a ratio to, or how the value came about. `at_least`: the budget is a floor.
    """

    measure: str
    value: float | str
    unit: str = ""
    budget: float | None = None
    base: str = ""
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """`ok` or `over`; empty when there is no budget, or no value."""
        if isinstance(self.value, str) or self.budget is None:
            return ""
        return "ok" if (self.value >= self.budget if self.at_least else self.value <= self.budget) else "over"

    @property
    def cells(self) -> tuple[str, ...]:
        """The row as it is shown."""
        value = f"not measured: {self.value}" if isinstance(self.value, str) else self._number(self.value)
        sign = "≥" if self.at_least else "≤"
        budget = "" if self.budget is None else f"{sign} {self._number(self.budget)}"
        return self.measure, value, budget, self.base, self.verdict

    def _number(self, number: float) -> str:
        digits = 0 if abs(number) >= 100 else 1 if abs(number) >= 10 else 2
        return f"{number:,.{digits}f} {self.unit or '×'}"


def text(rows: Sequence[Row]) -> str:
    """Aligned columns."""
    lines = [HEAD, *(row.cells for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(HEAD))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def markdown(rows: Sequence[Row]) -> str:
    """A table for `docs/performance.md`."""
    lines = [HEAD, ("---",) * len(HEAD), *(row.cells for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
