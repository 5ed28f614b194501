"""The widget around a chart."""

from __future__ import annotations

from textual.events import Resize
from textual.strip import Strip

from widgets.cells import Span
from widgets.chart_model import Chart
from widgets.chart_table import table_rows
from widgets.chart_text import chart_rows
from widgets.painted import Painted

LEAST = (40, 10)  # cells; below, a picture says less than its numbers


class ChartView(Painted):
    """Paints a chart; the same record goes to `chart_svg.to_svg`."""

    can_focus = False

    def __init__(
        self, *, empty: str = "no measurements yet", id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.empty = empty
        self._chart = Chart()
        self._as_table = False
        self._rows: list[list[Span]] = []

    @property
    def chart(self) -> Chart:
        """The chart shown."""
        return self._chart

    def set_chart(self, chart: Chart) -> None:
        """Show this chart; only lines that changed are painted."""
        if chart is self._chart or chart == self._chart:
            return
        self._chart = chart
        self._redraw()

    def toggle_table(self) -> None:
        """Numbers in place of the picture, or the picture again; where there is little room, the other way round."""
        self._as_table = not self._as_table
        self._redraw()

    def _redraw(self) -> None:
        width, height = self.size
        if not self.is_attached or not width or not height:
            return
        old = self._rows
        if any(any(y is not None for y in series.ys) for series in self._chart.series):
            small = width < LEAST[0] or height < LEAST[1]
            draw = table_rows if self._as_table != small else chart_rows
            self._rows = draw(self._chart, width, height, self.glyphs)
        else:
            self._rows = [[Span(self.glyphs.text(self.empty), "dim")]]
        self.refresh_changed(old, self._rows)

    def on_resize(self, _: Resize) -> None:
        self._redraw()

    def render_line(self, y: int) -> Strip:
        """One painted line."""
        spans = self._rows[y] if y < len(self._rows) else []
        return self.strip(spans, self.size.width)
