"""A sparkline one line high, with its label and its last value."""

from __future__ import annotations

from collections.abc import Sequence

from widgets.cells import Cell, Line, Spark, width_of
from widgets.lines import Lines


class Sparkline(Lines):
    """`label ▁▂▃▅▇ 2 914 tok/s`; gaps are blank, not low."""

    def __init__(self, label: str = "", *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.label = label
        self._values: tuple[float | None, ...] = ()
        self._last = ""

    def set_values(self, values: Sequence[float | None], last: str = "") -> None:
        """Show the newest of these values; `last` is the formatted newest one."""
        new = tuple(values), last
        if new != (self._values, self._last):
            self._values, self._last = new
            self.reflow()

    def lines_for(self, width: int) -> list[Line]:
        """One line: the values take what label and last value leave."""
        room = width - width_of(self.label) - width_of(self._last) - bool(self.label) - bool(self._last)
        label = (Cell(f"{self.label} ", "label"),) if self.label else ()
        return [Line((*label, Spark(self._values, width=max(1, room))), (Cell(self._last),) if self._last else ())]
