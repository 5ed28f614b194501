"""The disk pane."""

from __future__ import annotations

from typing import ClassVar, cast

from console.screens.frame import Frame
from console.screens.pane import DeckPane
from console.state import HostState
from console.values import Unknown, known
from console.views.disks import DiskRow, disk_rows
from widgets.cells import Bar, Cell, Line, Row, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.lines import Lines

COLUMNS = (
    Column("mount", 8, flex=2, middle=True),
    Column("used", 6, flex=1, priority=2),
    Column("%", 4, align="right", priority=1),
    Column("left", 8, align="right"),
    Column("state", 13, flex=1),
    Column("type", 5, flex=2, priority=3),
)
STALE_S = 15.0  # three intervals of the agent's probe


class DiskPane(DeckPane):
    """The disks, the worst first."""

    slices: ClassVar = ("hardware",)
    stale_after_s: ClassVar = STALE_S

    def __init__(self) -> None:
        self._table = LineTable(COLUMNS, empty="waiting for the first sample", id="disk-table")
        super().__init__("Disks", self._table, focusable=True, id="disks")

    def data_t(self, frame: Frame) -> float | Unknown:
        return _disks_t(frame)

    def show(self, frame: Frame) -> None:
        host = frame.host
        if host is None:
            return
        self._table.set_empty(_nothing(host))
        self._table.set_rows([_row(row) for row in disk_rows(host)])


class WorstDiskPane(DeckPane):
    """The worst disk alone, where there is no room for all."""

    slices: ClassVar = ("hardware",)
    stale_after_s: ClassVar = STALE_S

    def __init__(self) -> None:
        self._line = Lines(id="worst-disk-line")
        super().__init__("Disks", self._line, focusable=True, id="worst-disk")

    def data_t(self, frame: Frame) -> float | Unknown:
        return _disks_t(frame)

    def show(self, frame: Frame) -> None:
        rows = disk_rows(frame.host) if frame.host else []
        if not rows:
            self._line.set_lines([Line((Cell(_nothing(frame.host) if frame.host else "", "dim"),))])
            return
        worst, others = rows[0], len(rows) - 1
        told = f"  {worst.left_text} left  {worst.used_text} used  {worst.detail}"
        more = (Cell(f"{others} more", "dim"),) if others else ()
        state = State(cast(StateKind, worst.kind), f"{worst.mount} {worst.word}")
        self._line.set_lines([Line((state, Cell(told, "label")), more)])


def _disks_t(frame: Frame) -> float | Unknown:
    return frame.host.hardware.disks_t if frame.host else Unknown("no box")


def _nothing(host: HostState) -> str:
    """What stands there while there are no rows."""
    disks = host.hardware.disks
    if not known(disks):
        return f"unknown: {disks.reason}" if known(host.hardware.disks_t) else "waiting for the first sample"
    return "no disk that could hold a model"


def _row(row: DiskRow) -> Row:
    calm = "" if row.kind == "ok" else row.kind
    return Row(
        (
            Cell(row.mount),
            Bar(row.used),
            Cell(row.used_text, calm),
            Cell(row.left_text, calm or "strong"),
            State(cast(StateKind, row.kind), row.word),
            Cell(row.detail, "dim"),
        ),
        key=row.mount,
    )
