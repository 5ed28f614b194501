"""Screen 6: the measurement in progress, its points, its curves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from console.intents import key_of
from console.screens.base import DeckScreen
from console.screens.charts import chart_of
from console.screens.frame import Frame
from console.screens.pane import DeckPane, Named, fill, sentence
from console.state.bench import BenchRun
from console.values import Unknown
from console.views.bench import POINT_HEAD
from console.views.bench_pane import causes, curve_figures, headline, latest, live_figure, point_rows, utilisation
from widgets.cells import Cell, Row, State, StateKind
from widgets.chart import ChartView
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.lines import Lines
from widgets.pane import Hint

COLUMNS = (
    Column("", 3),
    *(Column(name, max(7, len(name)), align="right", priority=i // 3) for i, name in enumerate(POINT_HEAD[:-1])),
    Column(POINT_HEAD[-1], 12, flex=3),
)
_TABLE = Hint("t", "table", "screen.table")
_WORDS: dict[str, str] = {"ok": "", "warn": "", "fail": ""}


class BenchPane(DeckPane):
    """The run: what happens now, then a line for each point."""

    slices: ClassVar = ("bench",)
    stale_after_s: ClassVar = 4.0

    def __init__(self) -> None:
        self._head = Lines(wrap=True, id="bench-head")
        self._table = LineTable(COLUMNS, id="bench-table")
        self._causes = Lines(wrap=True, id="bench-causes")
        super().__init__("Bench", self._head, self._table, self._causes, focusable=True, id="bench")

    def paint(self, frame: Frame) -> None:
        """The clock of a step runs without facts."""
        run = latest(frame.host)
        if run is not None and run.ended is None:
            self._painted = None
        super().paint(frame)

    def data_t(self, frame: Frame) -> float | Unknown:
        run = latest(frame.host)
        if run is None or run.ended is not None or run.tick_t is None:
            return Unknown("nothing is being measured")
        return max(run.tick_t, run.step_t)

    def show(self, frame: Frame) -> None:
        run = latest(frame.host)
        refused = frame.host.bench.refused if frame.host else ""
        head = [(f"not measured: {refused}", "warn")] if refused else []
        head += headline(run, frame.now, utilisation(frame.host)) if run else []
        fill(self._head, [sentence(text, ink) for text, ink in head])
        fill(self._causes, [sentence(text, "dim") for text in causes(run)] if run else [])
        if run is None:
            key = key_of("bench", frame.table)
            self._table.set_empty(f"nothing is measured here yet: {key} measures the running server")
            return
        self.set_title("Bench", run.began.run)
        self._table.set_empty("no point is measured yet")
        rows = [
            Row((State(cast(StateKind, row.kind), _WORDS[row.kind]), *(Cell(cell) for cell in row.cells)), key=row.key)
            for row in point_rows(run)
        ]
        self._table.set_rows(rows)


class LivePane(DeckPane):
    """Tokens per second of the last minutes."""

    slices: ClassVar = ("bench",)
    hints: ClassVar = (_TABLE,)

    def __init__(self) -> None:
        self._chart = ChartView(empty="no tick yet", id="bench-live-chart")
        super().__init__("Now", self._chart, id="bench-live")

    def show(self, frame: Frame) -> None:
        run = latest(frame.host)
        if run is not None:
            self._chart.set_chart(chart_of(live_figure(run)))


class CurvePane(DeckPane):
    """The run's curves, one at a time: first its throughput over the ghost of the best earlier run."""

    slices: ClassVar = ("bench",)
    hints: ClassVar = (Hint("c", "next", "screen.curve"), _TABLE, Named("export", "CSV, SVG"))

    def __init__(self) -> None:
        self._chart = ChartView(empty="no point yet", id="bench-curve-chart")
        self._at = 0
        self._run: BenchRun | None = None
        super().__init__("Curve", self._chart, id="bench-curve")

    def show(self, frame: Frame) -> None:
        self._run = latest(frame.host)
        self._draw()

    def next(self) -> None:
        """The next curve that has a point."""
        self._at += 1
        self._draw()

    def _draw(self) -> None:
        if self._run is not None:
            found = curve_figures(self._run)
            self._at %= len(found)
            self.set_title("Curve", f"{self._at + 1} of {len(found)}")
            self._chart.set_chart(chart_of(found[self._at]))


class BenchScreen(DeckScreen):
    """Screen 6. `t` shows the numbers of the charts in their place, `c` the next curve."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "table", "numbers of the charts", show=False),
        Binding("c", "curve", "the next curve", show=False),
    ]

    def action_curve(self) -> None:
        self.query_one(CurvePane).next()

    def action_table(self) -> None:
        for chart in self.query(ChartView):
            chart.toggle_table()

    def body(self) -> Iterable[Widget]:
        yield Vertical(BenchPane(), Horizontal(LivePane(), CurvePane(), id="bench-charts"), id="bench-body")
