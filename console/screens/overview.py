"""Screen 1: everything at a glance. Screen 2: the host in full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Resize
from textual.widget import Widget

from console.screens.base import DeckScreen
from console.screens.bench import BenchPane
from console.screens.disks import DiskPane, WorstDiskPane
from console.screens.gpus import GpuHealthPane, GpuPane, LinksPane
from console.screens.hub import HubPane
from console.screens.jobs import JobsPane
from console.screens.jump import into
from console.screens.machine import MachinePane
from console.screens.pane import DeckPane
from console.screens.plan import FitPane
from console.screens.searching import SearchScreen
from console.screens.serve import LogPane, ServerPane
from widgets.kept import Stack, Tiles
from widgets.log_view import LogView

FOLDING_WIDTH = 76


class OverviewScreen(SearchScreen):
    """The panes of the whole deployment; what has no room in a small terminal has a screen of its own."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "neighbour(-1, 0)", "pane to the left", show=False),
        Binding("right", "neighbour(1, 0)", "pane to the right", show=False),
        Binding("up", "neighbour(0, -1)", "pane above", show=False),
        Binding("down", "neighbour(0, 1)", "pane below", show=False),
    ]

    def body(self) -> Iterable[Widget]:
        side = Stack(DiskPane(), FitPane(), id="side")
        deployment = (ServerPane(), HubPane(), BenchPane(), JobsPane())
        yield Tiles(GpuPane(), side, *deployment, WorstDiskPane(), LogPane(), id="overview")

    def on_resize(self, event: Resize) -> None:
        """Below this width the GPUs cannot stand side by side."""
        self.set_class(event.size.width < FOLDING_WIDTH, "-thin")

    @property
    def searched(self) -> LogView:
        return self.query_one(LogView)

    def action_neighbour(self, right: int, down: int) -> None:
        """Give the focus to the nearest pane in this direction."""
        panes = [pane for pane in self.query(DeckPane) if pane.region]
        here = next((pane for pane in panes if pane.has_focus or pane.has_focus_within), panes[0])
        places = [(pane, *_offset(here, pane, right, down)) for pane in panes]
        ahead = [(along + 3 * abs(across), pane) for pane, along, across in places if along > 0]
        if ahead:
            into(min(ahead, key=lambda one: one[0])[1])


def _offset(here: DeckPane, there: DeckPane, right: int, down: int) -> tuple[float, float]:
    """How far the centre of a pane lies along a direction, and how far off it; a cell is twice as high as wide."""
    x = (there.region.x + there.region.width / 2 - here.region.x - here.region.width / 2) / 2
    y = there.region.y + there.region.height / 2 - here.region.y - here.region.height / 2
    return (x * right, y) if right else (y * down, x)


class HostScreen(DeckScreen):
    """Everything of GPUs, disks and machine; scrolls where it is higher than the terminal."""

    def body(self) -> Iterable[Widget]:
        yield VerticalScroll(GpuPane(), GpuHealthPane(), LinksPane(), DiskPane(), MachinePane(), id="host-body")
