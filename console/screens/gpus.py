"""The GPU pane."""

from __future__ import annotations

from typing import ClassVar, cast

from console.screens.frame import Frame
from console.screens.pane import DeckPane
from console.values import Unknown, known
from console.views.gpus import GpuRow, gpu_rows, gpu_summary, gpu_title
from widgets.cells import Bar, Cell, Row, Spark, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable

COLUMNS = (
    Column("#", 2, align="right"),
    Column("util", 6, flex=2, priority=2),
    Column("", 4, align="right"),
    Column("memory", 6, flex=3, priority=3),
    Column("GiB", 11, align="right"),
    Column("°C", 4, align="right"),
    Column("W", 4, align="right", priority=1),
    Column("MHz", 5, align="right", priority=5),
    Column("state", 9),
    Column("last minutes", 12, flex=2, priority=6),
    Column("owner", 12, flex=4, priority=4),
)


class GpuPane(DeckPane):
    """All GPUs of the box, one line each."""

    slices: ClassVar = ("hardware",)

    def __init__(self) -> None:
        self._table = LineTable(COLUMNS, fold=True, empty="waiting for the first sample", id="gpu-table")
        super().__init__("GPUs", self._table, focusable=True, id="gpus")

    def data_t(self, frame: Frame) -> float | Unknown:
        return frame.host.hardware.gpus_t if frame.host else Unknown("no box")

    def show(self, frame: Frame) -> None:
        host = frame.host
        if host is None:
            return
        gpus = host.hardware.gpus
        self.set_title("GPUs", gpu_title(host))
        self.set_keys(gpu_summary(host))
        asked = known(gpus) or known(host.hardware.gpus_t)
        answer = "no GPU on this box" if known(gpus) else f"unknown: {gpus.reason}"
        self._table.set_empty(answer if asked else "waiting for the first sample")
        self._table.set_rows([_row(row) for row in gpu_rows(host)])


def _row(row: GpuRow) -> Row:
    calm = "" if row.kind == "ok" else row.kind
    return Row(
        (
            Cell(row.number, "dim"),
            Bar(row.util, "bar-busy"),
            Cell(row.util_text, calm),
            Bar(row.memory),
            Cell(row.memory_text, calm),
            Cell(row.heat_text, "warn" if row.word in ("HOT", "SLOW") else "label"),
            Cell(row.power_text, "label"),
            Cell(row.clock_text, "label"),
            State(cast(StateKind, row.kind), row.word),
            Spark(row.history, high=1.0),
            Cell(row.owner, "label"),
        ),
        key=row.uuid,
    )
