"""A chart as lines of text: legend with values, y axis, braille, x axis. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import NamedTuple

from widgets.axes import Scale, tick_text, ticks
from widgets.braille import Canvas
from widgets.cells import Span, cut, cut_spans, spans_width
from widgets.chart_model import Chart, Series
from widgets.glyphs import Glyphs

MOST_LEGEND_ROWS = 3
MARK_SPACING = 14


class Frame(NamedTuple):
    """Where a value lies on a canvas, in dots."""

    canvas: Canvas
    x: Scale
    y: Scale

    def column(self, value: float) -> int | None:
        """The dot column of an x value."""
        place = self.x.place(value)
        return None if place is None else round(place * (self.canvas.dots_wide - 1))

    def row(self, value: float) -> int | None:
        """The dot row of a y value, 0 at the top."""
        place = self.y.place(value)
        if place is None or not isfinite(place):
            return None
        return round((1 - place) * (self.canvas.dots_high - 1))


def series_ink(index: int, series: Series) -> str:
    """The ink of a curve."""
    return "ghost" if series.ghost else f"series-{index % 8}"


def chart_rows(chart: Chart, width: int, height: int, glyphs: Glyphs) -> list[list[Span]]:
    """The chart in exactly `height` lines of at most `width` cells."""
    chart = chart.windowed()
    x, y = chart.scales()
    legend = legend_rows(chart, width, glyphs)[: max(1, height - 4)]
    tall = height - len(legend) - 2
    y_ticks = ticks(y, max(2, tall // 3))
    margin = max((len(tick_text(value)) for value in y_ticks), default=1)
    wide = width - margin - 1
    if tall < 2 or wide < 8:
        return legend[:height]
    frame = Frame(Canvas(wide, tall), x, y)
    _draw(chart, frame, glyphs)
    rows = [*legend, *_with_y_axis(frame, y_ticks, margin, glyphs), *_x_axis(chart, frame, margin, glyphs)]
    return [cut_spans(row, width, glyphs.ellipsis) for row in rows]


def legend_rows(chart: Chart, width: int, glyphs: Glyphs) -> list[list[Span]]:
    """The heading, then marker, name and value of each curve, in as few lines as they need."""
    label = cut(glyphs.text(chart.heading), width, glyphs.ellipsis)
    rows: list[list[Span]] = [[Span(label, "label")] if label else []]
    for index, series in enumerate(chart.series):
        entry = _legend_entry(index, series, glyphs)
        lead = 2 if rows[-1] else 0
        if rows[-1] and spans_width(rows[-1]) + lead + spans_width(entry) > width:
            if len(rows) == MOST_LEGEND_ROWS:
                more = f"{glyphs.ellipsis} {len(chart.series) - index} more"
                rows[-1] = [*cut_spans(rows[-1], width - len(more) - 2, glyphs.ellipsis), Span("  "), Span(more, "dim")]
                break
            rows.append([])
            lead = 0
        rows[-1] += [Span(" " * lead), *entry]
    return [cut_spans(row, width, glyphs.ellipsis) for row in rows]


def _legend_entry(index: int, series: Series, glyphs: Glyphs) -> list[Span]:
    marker = glyphs.track * 2 if series.ghost or series.guide else glyphs.filled[index % 8]
    return [Span(f"{marker} {glyphs.text(series.name)} ", series_ink(index, series)), Span(glyphs.text(series.told))]


# --- curves


def _draw(chart: Chart, frame: Frame, glyphs: Glyphs) -> None:
    for level in chart.levels:
        if (row := frame.row(level.y)) is not None:
            frame.canvas.level(row, "level")
            _level_label(level.label, row, frame.canvas, glyphs)
    order = sorted(enumerate(chart.series), key=lambda pair: not pair[1].ghost)
    for index, series in order:
        _draw_labels(series, series_ink(index, series), frame, glyphs)
    for index, series in order:
        _draw_series(series, index, frame, glyphs)


def _draw_labels(series: Series, ink: str, frame: Frame, glyphs: Glyphs) -> None:
    """Behind each point, or before it at the right edge. Markers, which are drawn later, stand over them."""
    canvas = frame.canvas
    for x, y, label in zip(series.xs, series.ys, series.labels, strict=False):
        column, row = frame.column(x), frame.row(y) if y is not None else None
        if column is None or row is None:
            continue
        text, cell = glyphs.text(label), column // 2
        start = cell + 1 if cell + 1 + len(text) <= canvas.width else cell - len(text)
        for offset, char in enumerate(text):
            canvas.mark(2 * (start + offset), row, char, ink)


def _draw_series(series: Series, index: int, frame: Frame, glyphs: Glyphs) -> None:
    ink = series_ink(index, series)
    ys = _finite(series.ys)
    dense = len(ys) > frame.canvas.dots_wide
    if series.line and dense:
        _draw_envelope(series, ys, frame, ink)
    elif series.line:
        _draw_line(series, ys, frame, ink)
    _draw_bars(series, frame, ink)
    if not (series.ghost or series.guide):
        _draw_marks(series, ys, index, frame, glyphs)


def _finite(ys: Sequence[float | None]) -> Sequence[float | None]:
    """The values with everything that is no finite number as a gap."""
    try:
        if isfinite(sum(ys)):  # type: ignore[arg-type]
            return ys
    except TypeError:
        pass
    return [y if y is not None and isfinite(y) else None for y in ys]


def _draw_line(series: Series, ys: Sequence[float | None], frame: Frame, ink: str) -> None:
    """Straight lines between neighbouring points; a gap stays a gap."""
    previous: tuple[int, int] | None = None
    for x, y in zip(series.xs, ys, strict=False):
        column = frame.column(x)
        row = frame.row(y) if y is not None else None
        if column is None or row is None:
            previous = None
            continue
        if previous is None:
            frame.canvas.run(column, row, row, ink)
        elif series.ghost:
            _dotted(frame.canvas, previous, (column, row), ink)
        else:
            frame.canvas.line(*previous, column, row, ink)
        previous = column, row


def _dotted(canvas: Canvas, start: tuple[int, int], end: tuple[int, int], ink: str) -> None:
    (x0, y0), (x1, y1) = start, end
    steps = max(abs(x1 - x0), abs(y1 - y0), 1)
    for step in range(0, steps + 1, 3):
        y = round(y0 + (y1 - y0) * step / steps)
        canvas.run(round(x0 + (x1 - x0) * step / steps), y, y, ink)


def _draw_envelope(series: Series, ys: Sequence[float | None], frame: Frame, ink: str) -> None:
    """More points than dot columns: the least and the greatest of each column, so that no peak is lost."""
    canvas, columns = frame.canvas, frame.canvas.dots_wide
    size = len(ys) / columns
    gaps = None in ys
    previous: tuple[int, int] | None = None
    for part in range(columns):
        start, end = int(part * size), max(int(part * size) + 1, int((part + 1) * size))
        chunk = [y for y in ys[start:end] if y is not None] if gaps else ys[start:end]
        column = frame.column(series.xs[start])
        ends = _rows(chunk, frame) if chunk else None
        if ends is None or column is None:
            previous = None
            continue
        top, bottom = ends
        if previous is not None:
            top, bottom = min(top, previous[1] + 1), max(bottom, previous[0] - 1)
        if not (series.ghost and part % 3):
            canvas.run(column, top, bottom, ink)
        previous = ends


def _rows(chunk: Sequence[float | None], frame: Frame) -> tuple[int, int] | None:
    top, bottom = frame.row(max(chunk)), frame.row(min(chunk))  # type: ignore[type-var,arg-type]
    return None if top is None or bottom is None else (top, bottom)


def _draw_bars(series: Series, frame: Frame, ink: str) -> None:
    for x, low, high in zip(series.xs, series.lows, series.highs, strict=False):
        if low is not None and high is not None:
            column, top, bottom = frame.column(x), frame.row(high), frame.row(low)
            if column is not None and top is not None and bottom is not None:
                frame.canvas.run(column, top, bottom, ink)


def _draw_marks(series: Series, ys: Sequence[float | None], index: int, frame: Frame, glyphs: Glyphs) -> None:
    """A marker on each point when they are few, else some along the curve; flagged points are always hollow."""
    few = len(ys) * 4 <= frame.canvas.dots_wide or not series.line
    step = 1 if few else max(1, len(ys) * MARK_SPACING // frame.canvas.width)
    places = set(range(0 if few else index * step // 8, len(ys), step)) | {at for at in series.flagged if at < len(ys)}
    for at in sorted(places, key=lambda place: place in series.flagged):
        y = ys[at]
        column, row = frame.column(series.xs[at]), frame.row(y) if y is not None else None
        if column is not None and row is not None:
            shapes = glyphs.hollow if at in series.flagged else glyphs.filled
            frame.canvas.mark(column, row, shapes[index % 8], series_ink(index, series))


def _level_label(label: str, row: int, canvas: Canvas, glyphs: Glyphs) -> None:
    """The name of a level at the left end, above its line, or below it at the top edge."""
    text = cut(glyphs.text(label), canvas.width - 2, glyphs.ellipsis)
    at = row - 4 if row >= 4 else row + 4
    for offset, char in enumerate(text):
        canvas.mark(2 * (offset + 1), at, char, "level")


# --- axes


def _with_y_axis(frame: Frame, values: Sequence[float], margin: int, glyphs: Glyphs) -> list[list[Span]]:
    labels: dict[int, str] = {}
    for value in values:
        row = frame.row(value)
        if row is not None and 0 <= row < frame.canvas.dots_high:
            labels[row // 4] = tick_text(value)
    edge, tee = ("|", "+") if glyphs.ascii else ("│", "┤")
    rows: list[list[Span]] = []
    for at, spans in enumerate(frame.canvas.rows(glyphs.ascii)):
        head = labels.get(at, "").rjust(margin) + (tee if at in labels else edge)
        rows.append([Span(head, "axis"), *spans])
    return rows


def _x_axis(chart: Chart, frame: Frame, margin: int, glyphs: Glyphs) -> list[list[Span]]:
    """The axis line with its ticks, then their values and the label at the right end."""
    wide = frame.canvas.width
    corner, flat, tee = ("+", "-", "+") if glyphs.ascii else ("└", "─", "┬")
    line, text = [flat] * wide, [" "] * wide
    free = -margin
    for value in ticks(frame.x, max(2, wide // 10), chart.x_values()):
        column = frame.column(value)
        if column is None or not 0 <= column // 2 < wide:
            continue
        name, at = tick_text(value), column // 2
        start = min(max(0, at - len(name) // 2), wide - len(name))
        line[at] = tee
        if start >= free:
            text[start : start + len(name)] = name
            free = start + len(name) + 1
    return [[Span(" " * margin + corner + "".join(line), "axis")], [Span(" " * (margin + 1) + "".join(text), "axis")]]
