"""A figure of measurements as a chart of the widgets: braille on the screen, SVG in a report."""

from __future__ import annotations

from console.bench.figures import Figure, Line
from widgets.chart_model import Axis, Chart, Level, Series


def chart_of(figure: Figure) -> Chart:
    return Chart(
        Axis(figure.x_label, log=figure.log_x),
        Axis(figure.y_label, log=figure.log_y, zero=not figure.log_y),
        tuple(_series(line) for line in figure.lines),
        tuple(Level(y, label) for y, label in figure.levels),
        figure.title,
    )


def _series(line: Line) -> Series:
    return Series(
        line.name,
        line.xs,
        line.ys,
        line.lows,
        line.highs,
        line.flagged,
        line.ghost,
        line.joined,
        line.value,
        line.guide,
        line.labels,
    )
