"""Screen 1: everything at a glance. Screen 2: the host in full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import ItemGrid, Vertical, VerticalScroll
from textual.widget import Widget

from console.screens.base import DeckScreen
from console.screens.disks import DiskPane, WorstDiskPane
from console.screens.gpus import GpuHealthPane, GpuPane, LinksPane
from console.screens.hub import HubPane
from console.screens.machine import MachinePane
from console.screens.pane import DeckPane


class OverviewScreen(DeckScreen):
    """The panes of the whole deployment; what has no room in a small terminal has a screen of its own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "neighbour(-1, 0)", "pane to the left", show=False),
        Binding("right", "neighbour(1, 0)", "pane to the right", show=False),
        Binding("up", "neighbour(0, -1)", "pane above", show=False),
        Binding("down", "neighbour(0, 1)", "pane below", show=False),
    ]

    def body(self) -> Iterable[Widget]:
        side = Vertical(DiskPane(), id="side")
        yield ItemGrid(GpuPane(), side, HubPane(), WorstDiskPane(), id="overview")

    def action_neighbour(self, right: int, down: int) -> None:
        """Give the focus to the nearest pane in this direction."""
        panes = [pane for pane in self.query(DeckPane) if pane.focusable and pane.region]
        here = next((pane for pane in panes if pane.has_focus_within), None)
        if here is None:
            if panes:
                panes[0].focus()
            return
        found = [
            (abs(along) + 3 * abs(across), pane)
            for pane in panes
            for along, across in [_offset(here, pane, right, down)]
            if along > 0
        ]
        if found:
            min(found, key=lambda one: one[0])[1].focus()


def _offset(here: DeckPane, there: DeckPane, right: int, down: int) -> tuple[float, float]:
    """How far the centre of a pane lies along a direction, and how far off it; a cell is twice as high as wide."""
    x = (there.region.x + there.region.width / 2 - here.region.x - here.region.width / 2) / 2
    y = there.region.y + there.region.height / 2 - here.region.y - here.region.height / 2
    return (x * right, y) if right else (y * down, x)


class HostScreen(DeckScreen):
    """Everything of GPUs, disks and machine; scrolls where it is higher than the terminal."""

    def body(self) -> Iterable[Widget]:
        yield VerticalScroll(GpuPane(), GpuHealthPane(), LinksPane(), DiskPane(), MachinePane(), id="host-body")
