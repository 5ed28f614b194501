"""The disk pane."""

from __future__ import annotations

from typing import ClassVar, cast

from console.screens.frame import Frame
from console.screens.pane import DeckPane
from console.values import Unknown, known
from console.views.disks import DiskRow, disk_rows
from widgets.cells import Bar, Cell, Row, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable

COLUMNS = (
    Column("mount", 10, flex=2),
    Column("used", 6, flex=1, priority=2),
    Column("", 4, align="right", priority=1),
    Column("left", 9, align="right"),
    Column("state", 8, flex=1),
    Column("type", 5, flex=2, priority=3),
)


class DiskPane(DeckPane):
    """The disks, the worst first."""

    slices: ClassVar = ("hardware",)
    stale_after_s: ClassVar = 15.0

    def __init__(self) -> None:
        self._table = LineTable(COLUMNS, empty="waiting for the first sample", id="disk-table")
        super().__init__("Disks", self._table, focusable=True, id="disks")

    def data_t(self, frame: Frame) -> float | Unknown:
        return frame.host.hardware.disks_t if frame.host else Unknown("no box")

    def show(self, frame: Frame) -> None:
        host = frame.host
        if host is None:
            return
        disks = host.hardware.disks
        asked = not known(disks) and known(host.hardware.disks_t)
        self._table.set_empty(f"unknown: {disks.reason}" if asked else "waiting for the first sample")
        self._table.set_rows([_row(row) for row in disk_rows(host)])


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
