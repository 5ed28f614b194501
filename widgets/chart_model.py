"""What a chart shows. The same record becomes braille on the screen and SVG in a report."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from widgets.axes import Scale, scale_for, tick_text


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its label with the unit, logarithmic or not, fixed ends when given; `zero` starts at 0."""

    label: str = ""
    log: bool = False
    low: float | None = None
    high: float | None = None
    zero: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """A named curve. `ys` None is a gap, never zero.

    `lows`/`highs` are the ends of error bars; `flagged` are indices of points that may not count (hollow);
    `ghost` is an earlier run, shown quietly; `line=False` shows points alone; `value` is the legend's text;
    `guide` is a line to read the others by: no markers, no value. `labels` are words beside its points.
    """

    name: str
    xs: Sequence[float]
    ys: Sequence[float | None]
    lows: Sequence[float | None] = ()
    highs: Sequence[float | None] = ()
    flagged: frozenset[int] = frozenset()
    ghost: bool = False
    line: bool = True
    value: str = ""
    guide: bool = False
    labels: Sequence[str] = ()

    @property
    def told(self) -> str:
        """The value of the legend: as given, else the last of the curve."""
        last = next((tick_text(y) for y in reversed(self.ys) if y is not None), "no data")
        return self.value or ("" if self.guide else last)


@dataclass(frozen=True, slots=True)
class Level:
    """A horizontal line: the SLO, or a speed-up of 1."""

    y: float
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """Title, axes, curves, levels."""

    x: Axis = Axis()
    y: Axis = Axis(zero=True)
    series: tuple[Series, ...] = ()
    levels: tuple[Level, ...] = ()
    title: str = ""

    @property
    def heading(self) -> str:
        """The title, and what is drawn over what with its units."""
        drawn = f"{self.y.label} vs {self.x.label}" if self.x.label and self.y.label else self.y.label
        return f"{self.title} ({drawn})" if self.title and drawn else self.title or drawn

    def windowed(self) -> Chart:
        """The same chart with only the points inside fixed x ends, so that a window costs the same in any history.

        Where an end is fixed, the xs of a curve ascend.
        """
        if self.x.low is None and self.x.high is None:
            return self
        return replace(self, series=tuple(_window(line, self.x.low, self.x.high) for line in self.series))

    def scales(self) -> tuple[Scale, Scale]:
        """The scales that hold everything shown. An x axis is not widened: time ends where the data end."""
        xs = list(chain.from_iterable((min(line.xs), max(line.xs)) for line in self.series if line.xs))
        ys = [*chain.from_iterable(_extent(line) for line in self.series), *(level.y for level in self.levels)]
        low = self.x.low if self.x.low is not None else min(xs, default=None)
        high = self.x.high if self.x.high is not None else max(xs, default=None)
        x = scale_for(xs, self.x.log, low, high)
        return x, scale_for(ys, self.y.log, self.y.low, self.y.high, self.y.zero)

    def x_values(self) -> list[float]:
        """The distinct x values when they are few, for the ticks."""
        distinct = set(chain.from_iterable(line.xs[:64] for line in self.series))
        return sorted(distinct) if len(distinct) <= 64 else []


def _extent(series: Series) -> list[float]:
    """Least and greatest of the values and the error bars."""
    ends: list[float] = []
    for values in (series.ys, series.lows, series.highs):
        known = [value for value in values if value is not None] if None in values else values
        if known:
            ends += [min(known), max(known)]  # type: ignore[type-var,list-item]
    return ends


def _window(series: Series, low: float | None, high: float | None) -> Series:
    first = 0 if low is None else max(0, bisect_left(series.xs, low) - 1)
    last = len(series.xs) if high is None else bisect_right(series.xs, high) + 1
    if first == 0 and last >= len(series.xs):
        return series
    flagged = frozenset(at - first for at in series.flagged if first <= at < last)
    cut = slice(first, last)
    return replace(
        series, xs=series.xs[cut], ys=series.ys[cut], lows=series.lows[cut], highs=series.highs[cut], flagged=flagged,
        labels=series.labels[cut],
    )  # fmt: skip
