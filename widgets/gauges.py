"""Bars and sparklines as spans: pure, in eighths of a cell, or in ASCII."""

from __future__ import annotations

from math import isfinite

from widgets.cells import Bar, Span, Spark
from widgets.glyphs import Glyphs


def bar_spans(bar: Bar, width: int, glyphs: Glyphs) -> list[Span]:
    """A bar of exactly `width` cells. A ratio above zero never looks empty, one below one never looks full."""
    if bar.ratio is None or not isfinite(bar.ratio):
        return [Span(glyphs.unknown_track * width, "unknown")]
    filled, partial = _fill(min(max(bar.ratio, 0.0), 1.0), width, glyphs)
    spans = [Span(filled + partial, bar.ink), Span(glyphs.track * (width - len(filled + partial)), "track")]
    if bar.tick is not None and isfinite(bar.tick) and width:
        spans = _with_tick(spans, min(int(min(max(bar.tick, 0.0), 1.0) * width), width - 1), glyphs.tick)
    return [span for span in spans if span.text]


def _fill(ratio: float, width: int, glyphs: Glyphs) -> tuple[str, str]:
    steps = len(glyphs.eighths) + 1
    units = round(ratio * width * steps)
    if ratio > 0:
        units = max(units, 1)
    if ratio < 1:
        units = min(units, width * steps - 1)
    whole, part = divmod(max(units, 0), steps)
    return glyphs.full * whole, glyphs.eighths[part - 1] if part else ""


def _with_tick(spans: list[Span], at: int, tick: str) -> list[Span]:
    """Replace the cell at `at` by the tick."""
    out: list[Span] = []
    start = 0
    for text, ink in spans:
        end = start + len(text)
        if start <= at < end:
            out += [Span(text[: at - start], ink), Span(tick, "tick"), Span(text[at - start + 1 :], ink)]
        else:
            out.append(Span(text, ink))
        start = end
    return out


def spark_spans(spark: Spark, width: int, glyphs: Glyphs) -> list[Span]:
    """The last `width` values, newest at the right; gaps are blank. One ink for all, so that it costs one span."""
    values = list(spark.values)[-width:] if width else []
    known = [value for value in values if value is not None and isfinite(value)]
    high = spark.high if spark.high is not None else max(known, default=1.0)
    scale = (len(glyphs.levels) - 1) / (high - spark.low) if high > spark.low else 0.0
    text = "".join(_level(value, spark.low, scale, glyphs.levels) for value in values)
    return [Span(text.rjust(width), spark.ink)]


def _level(value: float | None, low: float, scale: float, levels: str) -> str:
    if value is None or not isfinite(value):
        return " "
    return levels[min(max(round((value - low) * scale), 0), len(levels) - 1)]
