"""The same chart as a self-contained SVG for reports: no script, no font file, light and dark. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import NamedTuple
from xml.sax.saxutils import escape

from widgets.axes import Scale, tick_text, ticks
from widgets.cells import printable, width_of
from widgets.chart_model import Chart, Series

_LIGHT = ["#1f6fc4", "#b35c00", "#2c7a47", "#97409a", "#bf3030", "#007a80", "#77690b", "#5a50c2"]
_DARK = ["#6fb3f7", "#f2ae57", "#86d19a", "#dc94dd", "#f3857d", "#5fd3d3", "#cfc46b", "#aaa2f5"]
_LEFT, _RIGHT, _BOTTOM, _LEGEND_ROW, _CHAR = 64, 18, 46, 20, 7.2
_SHAPES = (
    "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "M0,-5L4.6,3.4L-4.6,3.4z",
    "M-3.8,-3.8H3.8V3.8H-3.8z",
    "M0,-5.2L5.2,0L0,5.2L-5.2,0z",
    "M0,5L4.6,-3.4L-4.6,-3.4z",
    "M0,-5.6L1.5,-1.9L5.4,-1.7L2.4,.8L3.4,4.6L0,2.5L-3.4,4.6L-2.4,.8L-5.4,-1.7L-1.5,-1.9z",
    "M5,0L-3.4,4.6L-3.4,-4.6z",
    "M-5,0L3.4,4.6L3.4,-4.6z",
)


class _Plot(NamedTuple):
    """The plotting area in pixels and the scales on it."""

    left: float
    top: float
    right: float
    bottom: float
    x: Scale
    y: Scale

    def at(self, x: float, y: float | None) -> tuple[float, float] | None:
        """Pixels of a point; None when it has no place."""
        if y is None or not isfinite(y):
            return None
        across, up = self.x.place(x), self.y.place(y)
        if across is None or up is None:
            return None
        return self.left + across * (self.right - self.left), self.bottom - up * (self.bottom - self.top)


def to_svg(chart: Chart, width: int = 760, height: int = 380) -> str:
    """The chart as SVG text. Follows the reader's light or dark scheme; light where the reader has none."""
    chart = chart.windowed()
    legend, rows = _legend(chart, width)
    x, y = chart.scales()
    plot = _Plot(_LEFT, 34 + rows * _LEGEND_ROW, width - _RIGHT, height - _BOTTOM, x, y)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}">',
        f"<title>{_text(chart.heading)}</title>",
        f"<style>{_style()}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>',
        f'<text class="head" x="14" y="22">{_text(chart.heading)}</text>',
        *legend,
        *_grid(chart, plot),
        *_levels(chart, plot),
    ]
    for index, series in sorted(enumerate(chart.series), key=lambda pair: not pair[1].ghost):
        parts.append(f'<g class="{"ghost" if series.ghost else f"s{index % 8}"}">')
        parts += [*_lines(series, plot), *_error_bars(series, plot), *_marks(series, index, plot)]
        parts += _labels(series, plot)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>\n"])


def _text(text: str) -> str:
    return escape(printable(text), {'"': "&quot;"})


def _style() -> str:
    """Fills and strokes by class, for both schemes."""
    base = (
        "text{font:12px system-ui,'Segoe UI',Helvetica,Arial,sans-serif;font-variant-numeric:tabular-nums}"
        ".head{font-size:14px;font-weight:600}.line{fill:none;stroke-width:2;stroke-linejoin:round}"
        ".bar{stroke-width:1.3}.mark{stroke-width:1.6}.ghost .line{stroke-dasharray:2 4}.level{stroke-dasharray:6 4}"
    )
    return (
        base
        + _scheme("#fff", "#1f262d", "#5c6771", "#e3e7ea", _LIGHT)
        + (f"@media(prefers-color-scheme:dark){{{_scheme('#10151b', '#d5dde5', '#94a1ad', '#26303a', _DARK)}}}")
    )


def _scheme(paper: str, ink: str, dim: str, grid: str, colours: Sequence[str]) -> str:
    rules = [
        f".paper{{fill:{paper}}}text{{fill:{dim}}}.head,.value{{fill:{ink}}}.grid{{stroke:{grid}}}",
        f".axis,.level{{stroke:{dim}}}.hollow{{fill:{paper}}}.ghost .line,.ghost .mark{{stroke:{dim}}}",
    ]
    for index, colour in enumerate(colours):
        rules.append(
            f".s{index} .line,.s{index} .bar,.s{index} .mark{{stroke:{colour}}}.s{index} .full{{fill:{colour}}}"
        )
    return "".join(rules)


def _legend(chart: Chart, width: int) -> tuple[list[str], int]:
    """Marker, name and value of each curve, and the rows they take."""
    parts: list[str] = []
    x, row = 14.0, 0
    for index, series in enumerate(chart.series):
        value = series.told
        size = 26 + _CHAR * (width_of(series.name) + width_of(value) + 1)
        if x > 14 and x + size > width - _RIGHT:
            x, row = 14.0, row + 1
        y = 44 + row * _LEGEND_ROW
        mark = (
            f'<g class="ghost"><path class="line" d="M{x - 5:.0f},{y - 4}h14"/></g>'
            if series.ghost
            else f'<g class="s{index % 8}"><path class="line" d="M{x - 5:.0f},{y - 4}h14"/></g>'
            if series.guide
            else f'<g class="s{index % 8}">{_mark(index, x + 2, y - 4, hollow=False)}</g>'
        )
        name = f'<tspan>{_text(series.name)}</tspan> <tspan class="value">{_text(value)}</tspan>'
        parts.append(f'{mark}<text x="{x + 13:.0f}" y="{y}">{name}</text>')
        x += size + 14
    return parts, row + 1 if chart.series else 0


def _grid(chart: Chart, plot: _Plot) -> Iterator[str]:
    for value in ticks(plot.y, 5):
        if (point := plot.at(plot.x.low, value)) is not None:
            y = point[1]
            yield f'<path class="grid" d="M{plot.left},{y:.1f}H{plot.right}"/>'
            yield f'<text x="{plot.left - 8}" y="{y + 4:.1f}" text-anchor="end">{tick_text(value)}</text>'
    for value in ticks(plot.x, 8, chart.x_values()):
        if (point := plot.at(value, plot.y.low)) is not None:
            x = point[0]
            yield f'<path class="axis" d="M{x:.1f},{plot.bottom}v5"/>'
            yield f'<text x="{x:.1f}" y="{plot.bottom + 19}" text-anchor="middle">{tick_text(value)}</text>'
    yield f'<path class="axis" d="M{plot.left},{plot.bottom}H{plot.right}"/>'
    middle = (plot.left + plot.right) / 2
    yield f'<text x="{middle:.0f}" y="{plot.bottom + 38}" text-anchor="middle">{_text(chart.x.label)}</text>'


def _levels(chart: Chart, plot: _Plot) -> Iterator[str]:
    for level in chart.levels:
        if (point := plot.at(plot.x.low, level.y)) is not None:
            y = point[1]
            yield f'<path class="level" d="M{plot.left},{y:.1f}H{plot.right}"/>'
            yield f'<text x="{plot.left + 6}" y="{y - 5:.1f}">{_text(level.label)}</text>'


def _lines(series: Series, plot: _Plot) -> Iterator[str]:
    """One path a stretch without gaps."""
    if not series.line:
        return
    stretch: list[str] = []
    for x, y in [*zip(series.xs, series.ys, strict=False), (0.0, None)]:
        point = plot.at(x, y)
        if point is not None:
            stretch.append(f"{point[0]:.1f},{point[1]:.1f}")
        elif stretch:
            yield f'<path class="line" d="M{"L".join(stretch)}"/>'
            stretch = []


def _error_bars(series: Series, plot: _Plot) -> Iterator[str]:
    for x, low, high in zip(series.xs, series.lows, series.highs, strict=False):
        bottom, top = plot.at(x, low), plot.at(x, high)
        if bottom and top:
            at, y0, y1 = bottom[0], bottom[1], top[1]
            yield f'<path class="bar" d="M{at - 4:.1f},{y0:.1f}h8M{at - 4:.1f},{y1:.1f}h8M{at:.1f},{y0:.1f}V{y1:.1f}"/>'


def _marks(series: Series, index: int, plot: _Plot) -> Iterator[str]:
    """A marker on each point when they are few, and on every flagged one."""
    if series.guide:
        return
    every = len(series.ys) <= 40 or not series.line
    for at, (x, y) in enumerate(zip(series.xs, series.ys, strict=False)):
        flagged = at in series.flagged
        if (every and not series.ghost) or flagged:
            point = plot.at(x, y)
            if point:
                yield _mark(index, *point, hollow=flagged)


def _labels(series: Series, plot: _Plot) -> Iterator[str]:
    """Beside its point, inside the picture."""
    for x, y, label in zip(series.xs, series.ys, series.labels, strict=False):
        if point := plot.at(x, y):
            inside = point[0] + 8 + _CHAR * width_of(label) <= plot.right
            at, end = (point[0] + 8, "start") if inside else (point[0] - 8, "end")
            yield f'<text class="value" x="{at:.1f}" y="{point[1] - 5:.1f}" text-anchor="{end}">{_text(label)}</text>'


def _mark(index: int, x: float, y: float, *, hollow: bool) -> str:
    kind = "hollow" if hollow else "full"
    return f'<path class="mark {kind}" transform="translate({x:.1f},{y:.1f})" d="{_SHAPES[index % 8]}"/>'
