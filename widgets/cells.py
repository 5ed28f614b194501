"""What callers hand to a widget: rows of plain pieces, and how text is cut to cells.

A piece names an *ink* (a style class of `console.tcss`, such as `ok`, `dim strong`), never a colour. Nothing here
is markup: square brackets are square brackets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from rich.cells import cell_len, set_cell_size

Align = Literal["left", "right", "center"]
StateKind = Literal["ok", "warn", "fail", "unknown", "busy", "stale", "off"]


LEAST_HALVED = 7  # cells: below, both halves would say nothing


class Cell(NamedTuple):
    """Text in one ink."""

    text: str
    ink: str = ""


class State(NamedTuple):
    """A state, always painted as glyph + word + colour."""

    kind: StateKind
    word: str


class Bar(NamedTuple):
    """A bar filled to `ratio` (0…1; None is unknown, which is not empty).

    `tick` marks the planned ratio. `width` is in cells; 0 takes the column's width.
    """

    ratio: float | None
    ink: str = "bar"
    tick: float | None = None
    width: int = 0


class Spark(NamedTuple):
    """The last values as a line one cell high; None is a gap. `width` as in Bar."""

    values: Sequence[float | None]
    low: float = 0.0
    high: float | None = None
    ink: str = "spark"
    width: int = 0


Piece = Cell | State | Bar | Spark


class Line(NamedTuple):
    """A free line: pieces from the left, pieces that stay at the right end, the hanging indent when wrapped."""

    left: tuple[Piece, ...] = ()
    right: tuple[Piece, ...] = ()
    indent: int = 0


class Row(NamedTuple):
    """A table row: one piece a column, a key that survives re-sorting, an ink under all its cells."""

    cells: tuple[Piece, ...]
    key: str = ""
    ink: str = ""


class Span(NamedTuple):
    """Text as it is painted, in one ink."""

    text: str
    ink: str = ""


def printable(text: str) -> str:
    """The text with everything that is no glyph (controls, escapes, bidi marks) replaced by U+FFFD.

    Callers clean remote text where it enters; this is the last wall before the terminal.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def width_of(text: str) -> int:
    """Cells that the text takes; East-Asian wide characters take two."""
    return len(text) if text.isascii() else cell_len(text)


def cut(text: str, width: int, ellipsis: str = "…") -> str:
    """The text in at most `width` cells; a cut always shows the ellipsis."""
    if width <= 0:
        return ""
    if width_of(text) <= width:
        return text
    if text.isascii():
        return text[: width - 1] + ellipsis
    return set_cell_size(text, width - 1) + ellipsis


def cut_middle(text: str, width: int, ellipsis: str = "…") -> str:
    """The text in at most `width` cells with its beginning and its end: names and paths often begin alike."""
    if width < LEAST_HALVED or width_of(text) <= width:
        return cut(text, width, ellipsis)
    head = (width - 1) // 2
    begin, end = set_cell_size(text, head), text[-(width - 1 - head) :]
    while width_of(end) > width - 1 - head:
        end = end[1:]
    return begin + ellipsis + end


def fit(text: str, width: int, align: Align = "left", ellipsis: str = "…", *, middle: bool = False) -> str:
    """The text in exactly `width` cells, cut at its end or in its middle."""
    text = (cut_middle if middle else cut)(text, width, ellipsis)
    spare = width - width_of(text)
    if spare <= 0:
        return text
    if align == "left":
        return text + " " * spare
    if align == "right":
        return " " * spare + text
    return " " * (spare // 2) + text + " " * (spare - spare // 2)


def cut_spans(spans: Sequence[Span], width: int, ellipsis: str = "…") -> list[Span]:
    """The spans in at most `width` cells, the last one cut with the ellipsis."""
    kept: list[Span] = []
    left = width
    for index, span in enumerate(spans):
        size = width_of(span.text)
        more = any(later.text for later in spans[index + 1 :])
        if size < left or (size == left and not more):
            kept.append(span)
            left -= size
            continue
        if left > 0:
            kept.append(Span(cut(span.text + " " * more, left, ellipsis), span.ink))
        break
    return kept


def spans_width(spans: Sequence[Span]) -> int:
    """Cells that the spans take."""
    return sum(width_of(span.text) for span in spans)
