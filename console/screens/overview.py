"""Screen 1: everything at a glance. Screen 2: the host in full."""

from __future__ import annotations

from collections.abc import Iterable

from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from console.screens.base import DeckScreen
from console.screens.disks import DiskPane
from console.screens.gpus import GpuPane
from console.screens.hub import HubPane
from console.screens.machine import MachinePane


class OverviewScreen(DeckScreen):
    """GPUs and disks; the panes of the deployment join them."""

    def body(self) -> Iterable[Widget]:
        yield Horizontal(GpuPane(), Vertical(DiskPane(), HubPane(), id="side"), id="overview")


class HostScreen(DeckScreen):
    """GPUs, disks and the machine."""

    def body(self) -> Iterable[Widget]:
        yield Vertical(GpuPane(), DiskPane(), MachinePane(), id="host-body")
