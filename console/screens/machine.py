"""The machine pane: who the box is, its CPU and memory, what its probes complain of."""

from __future__ import annotations

from typing import ClassVar

from console.screens.frame import Frame
from console.screens.pane import DeckPane
from console.views.machine import machine_facts
from widgets.cells import Cell, Line
from widgets.lines import Lines


class MachinePane(DeckPane):
    """One fact a line."""

    slices: ClassVar = ("hardware", "link")

    def __init__(self) -> None:
        self._lines = Lines(wrap=True, id="machine-lines")
        super().__init__("Machine", self._lines, focusable=True, id="machine")

    def show(self, frame: Frame) -> None:
        if frame.host is not None:
            facts = machine_facts(frame.host)
            self._lines.set_lines(
                [Line((Cell(f"{name:<10} ", "dim"), Cell(text, ink)), indent=11) for name, text, ink in facts]
            )
