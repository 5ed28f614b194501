"""CPU cost of painting the widgets in a real pseudo-terminal: `python tests/perf/widgets_cost.py`.

Prints a table: median CPU per refresh, process time minus idle. Budgets: table 3 ms, chart 15 ms, log 10 % of a
core at 1,000 lines/s.
"""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import pty
import random
import statistics
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from textual.app import ComposeResult
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.widget import Widget

from tests.perf.table import Row
from tests.support.frames import StyledApp
from tests.support.gallery import GPU_COLUMNS, gpu_rows, log_lines
from widgets.chart import ChartView
from widgets.chart_model import Axis, Chart, Series
from widgets.chart_text import chart_rows
from widgets.glyphs import UNICODE
from widgets.line_table import LineTable
from widgets.log_view import LogView
from widgets.pane import Pane

BEATS = 40


class One(StyledApp):
    """One widget, refreshed on a clock."""

    CSS = "Pane { height: 1fr; } LineTable { height: 1fr; }"

    def __init__(self, make: Callable[[], Widget], beat: Callable[[Widget, int], None]) -> None:
        super().__init__()
        self.make = make
        self.beat = beat
        self.costs: list[float] = []

    def compose(self) -> ComposeResult:
        yield Pane("cost", self.make(), id="pane")

    def on_mount(self) -> None:
        self.run_worker(self.measure())

    async def measure(self) -> None:
        widget = self.query_one("#pane").children[0]
        await asyncio.sleep(0.5)
        idle_start = time.process_time()
        await asyncio.sleep(1.0)
        idle = time.process_time() - idle_start
        for beat in range(BEATS):
            start = time.process_time()
            self.beat(widget, beat)
            await asyncio.sleep(0.1)
            self.costs.append(time.process_time() - start - idle / 10)
        self.exit()


def chart(beat: int, points: int = 500) -> Chart:
    """Eight noisy curves."""
    spread = random.Random(beat)
    curves = tuple(
        Series(
            f"series {index}",
            range(points),
            [
                3000 + 400 * index + 800 * math.sin((at + beat) / 40 + index) + 300 * spread.random()
                for at in range(points)
            ],
        )
        for index in range(8)
    )
    return Chart(Axis("s"), Axis("tok/s", zero=True), curves)


def show_log(widget: Widget, beat: int) -> None:
    assert isinstance(widget, LogView)
    widget.extend(log_lines(beat * 250, 250))


def show_table(widget: Widget, beat: int) -> None:
    assert isinstance(widget, LineTable)
    widget.set_rows(gpu_rows(beat))


CHARTS = [chart(beat) for beat in range(8)]


def show_chart(widget: Widget, beat: int) -> None:
    assert isinstance(widget, ChartView)
    widget.set_chart(CHARTS[beat % 8])


CASES: dict[str, tuple[Callable[[], Widget], Callable[[Widget, int], None]]] = {
    "table 8 × 9": (lambda: LineTable(GPU_COLUMNS), show_table),
    "log, 250 lines a beat": (LogView, show_log),
    "chart 8 × 500": (ChartView, show_chart),
}


def in_terminal(app: One, width: int = 160, height: int = 50) -> list[float]:
    """Run the app in a pty whose other end is read and thrown away."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
    threading.Thread(target=drain, args=(leader,), daemon=True).start()
    kept = [os.dup(fd) for fd in (0, 1, 2)]
    for fd in (0, 1, 2):
        os.dup2(follower, fd)
    driver: type[Driver] = LinuxDriver
    app.driver_class = driver
    try:
        app.run()
    finally:
        for fd, copy in enumerate(kept):
            os.dup2(copy, fd)
    return app.costs


def drain(fd: int) -> None:
    while os.read(fd, 65536):
        pass


def pure_chart(points: int, window: int | None = None) -> float:
    """Median CPU seconds of the chart alone at 100 × 30 cells."""
    shown = chart(0, points)
    if window:
        shown = Chart(Axis("s", low=points - window, high=points), shown.y, shown.series)
    costs = []
    for _ in range(20):
        start = time.process_time()
        chart_rows(shown, 100, 30, UNICODE)
        costs.append(time.process_time() - start)
    return statistics.median(costs)


def rows() -> list[Row]:
    """Each budget of a widget; what a paint costs with everything that Textual does for it."""
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    table, log, whole = (statistics.median(in_terminal(One(make, beat))) for make, beat in CASES.values())
    alone, window = pure_chart(500), pure_chart(50_000, window=500)
    return [
        Row(measure="GPU table, a refresh", value=1000 * table, unit="ms", budget=3),
        Row(measure="log pane at 1,000 lines/s", value=100 * log * 4, unit="% of a core", budget=10),
        Row(measure="chart, 8 × 500 points at 100 × 30", value=1000 * alone, unit="ms", budget=15),
        Row(measure="the same window of 8 × 50,000 points", value=window / alone, budget=1.25, base="a history of 500"),
        Row(measure="chart on screen, a refresh", value=1000 * whole, unit="ms", base="with Textual's part"),
    ]


def main() -> None:
    os.environ["TEXTUAL_ANIMATIONS"] = "none"
    rows = [(name, statistics.median(in_terminal(One(make, beat)))) for name, (make, beat) in CASES.items()]
    rows.append(("chart rows alone, 8 × 500 at 100 × 30", pure_chart(500)))
    rows.append(("the same window of 500 in 8 × 50,000", pure_chart(50_000, window=500)))
    rows.append(("all of 8 × 50,000", pure_chart(50_000)))
    sys.stdout.write("CPU ms per refresh\n")
    for name, cost in rows:
        note = f"   {cost / 0.25:.1%} of a core at 4 a second" if name.startswith("log") else ""
        sys.stdout.write(f"{cost * 1000:8.1f}  {name}{note}\n")


if __name__ == "__main__":
    main()
