"""A chart as a table: one line for each x, one column for each curve. Pure."""

from __future__ import annotations

from widgets.axes import tick_text
from widgets.cells import Span, cut, cut_spans
from widgets.chart_model import Chart, Series
from widgets.chart_text import series_ink
from widgets.glyphs import Glyphs

GAP = "–"
NARROWEST = 6


def table_rows(chart: Chart, width: int, height: int, glyphs: Glyphs) -> list[list[Span]]:
    """At most `height` lines of at most `width` cells, the last x at the bottom. A gap is a dash, a hollow mark stands
    behind a point that may not count, and where a curve has no point at all its cell is empty."""
    heads = [chart.x.label or "x", *(series.name for series in chart.series)]
    found = [dict(zip(series.xs, range(len(series.xs)), strict=False)) for series in chart.series]
    xs = sorted({*(x for places in found for x in places)})[-max(0, height - 2) :]
    body = [
        [tick_text(x), *(_cell(line, places.get(x)) for line, places in zip(chart.series, found, strict=True))]
        for x in xs
    ]
    widest = max(NARROWEST, (width - 8) // max(1, len(chart.series)) - 2)
    names = [cut(glyphs.text(head), widest, glyphs.ellipsis) for head in heads]
    wide = [max(map(len, column)) for column in zip(names, *body, strict=True)]
    inks = ["axis", *(series_ink(index, series) for index, series in enumerate(chart.series))]
    title = [Span(glyphs.text(chart.heading), "label")]
    rows = [title, _row(names, wide, inks), *(_row(cells, wide, ["axis"], glyphs) for cells in body)]
    return [cut_spans(row, width, glyphs.ellipsis) for row in rows[:height]]


def _row(cells: list[str], wide: list[int], inks: list[str], glyphs: Glyphs | None = None) -> list[Span]:
    told = [glyphs.text(cell) for cell in cells] if glyphs else cells
    return [
        Span(cell.rjust(room) + "  ", inks[at] if at < len(inks) else "")
        for at, (cell, room) in enumerate(zip(told, wide, strict=True))
    ]


def _cell(series: Series, at: int | None) -> str:
    if at is None:
        return ""
    y = series.ys[at]
    return GAP if y is None else tick_text(y) + "○" * (at in series.flagged)
