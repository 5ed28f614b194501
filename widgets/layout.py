"""From pieces to spans of an exact width: pure, the same for every widget."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import chop_cells

from widgets.cells import Align, Bar, Cell, Line, Piece, Row, Span, Spark, State, cut_spans, fit, spans_width, width_of
from widgets.gauges import bar_spans, spark_spans
from widgets.glyphs import Glyphs

FREE_BAR_WIDTH = 12
SHORT_ITEM = 20
LONGEST_UNIT = 5
_NUMBER = re.compile(r"\W*\d[\d.,]* ")
_BEFORE_NUMBERS = frozenset(f"{word} " for word in ("±", "≥", "≤", "=", "≈", "pid", "GPU", "port", "exit", "Xid"))
_WORD = re.compile(r"[^ ]+ *| +")


class Column(NamedTuple):
    """A table column. `width` is its least width in cells, `flex` its share of what is left over.

    `priority` 0 always stays; the highest is dropped first when the table is narrow. What has no room is cut at its
    end, with `middle` in its middle.
    """

    title: str
    width: int
    flex: int = 0
    align: Align = "left"
    priority: int = 0
    middle: bool = False


class Placed(NamedTuple):
    """A column that is shown: its place in the list, and its width in cells."""

    at: int
    width: int


def place_columns(columns: Sequence[Column], width: int, gap: int = 1) -> list[Placed]:
    """The columns that fit into `width` cells, in order, with what is left over shared out by `flex`."""
    kept = list(range(len(columns)))
    while len(kept) > 1 and _least(columns, kept, gap) > width:
        droppable = [index for index in kept if columns[index].priority > 0]
        if not droppable:
            break
        kept.remove(max(droppable, key=lambda index: (columns[index].priority, index)))
    spare = max(0, width - _least(columns, kept, gap))
    shares = _shares([columns[index].flex for index in kept], spare)
    placed: list[Placed] = []
    left = width
    for index, share in zip(kept, shares, strict=True):
        size = min(columns[index].width + share, left)
        if size <= 0:
            break
        placed.append(Placed(index, size))
        left -= size + gap
    return placed


def _least(columns: Sequence[Column], kept: Sequence[int], gap: int) -> int:
    return sum(columns[index].width for index in kept) + gap * (len(kept) - 1)


def _shares(flexes: Sequence[int], spare: int) -> list[int]:
    """Whole cells by weight; the rounding goes to the last flexible column."""
    total = sum(flexes)
    if not total:
        return [0] * len(flexes)
    shares = [spare * flex // total for flex in flexes]
    last = max(index for index, flex in enumerate(flexes) if flex)
    shares[last] += spare - sum(shares)
    return shares


def piece_spans(piece: Piece, glyphs: Glyphs, width: int = 0) -> list[Span]:
    """A piece at its natural width; a bar or a sparkline takes `width`, or else its own."""
    if isinstance(piece, Cell):
        return [Span(glyphs.text(piece.text), piece.ink)]
    if isinstance(piece, State):
        word = glyphs.text(piece.word)
        return [Span(f"{glyphs.of(piece.kind)} {word}" if word else glyphs.of(piece.kind), piece.kind)]
    size = piece.width or width or FREE_BAR_WIDTH
    return bar_spans(piece, size, glyphs) if isinstance(piece, Bar) else spark_spans(piece, size, glyphs)


def cell_spans(piece: Piece, width: int, column: Column, glyphs: Glyphs) -> list[Span]:
    """A piece in exactly `width` cells, as the column has it."""
    if isinstance(piece, Bar | Spark):
        piece = piece._replace(width=0)
    spans = piece_spans(piece, glyphs, width)
    if len(spans) == 1:
        text = fit(spans[0].text, width, column.align, glyphs.ellipsis, middle=column.middle)
        return [Span(text, spans[0].ink)]
    return spans


def row_spans(
    cells: Sequence[Piece], columns: Sequence[Column], placed: Sequence[Placed], glyphs: Glyphs
) -> list[Span]:
    """A table row: its cells in their columns, one cell apart. A missing cell is blank."""
    spans: list[Span] = []
    for index, width in placed:
        if spans:
            spans.append(Span(" "))
        piece = cells[index] if index < len(cells) else Cell("")
        spans += cell_spans(piece, width, columns[index], glyphs)
    return spans


def row_text(row: Row) -> str:
    """The words of a row as one line: what find, filter and copy work on."""
    texts = (cell.word if isinstance(cell, State) else getattr(cell, "text", "") for cell in row.cells)
    return "  ".join(text for text in texts if text)


def line_spans(line: Line, width: int, glyphs: Glyphs) -> list[Span]:
    """A free line in exactly `width` cells; the right part stays, the left part is cut with the ellipsis."""
    right = cut_spans(_flat(line.right, glyphs), width, glyphs.ellipsis)
    room = width - spans_width(right) - bool(right)
    left = cut_spans(_flat(line.left, glyphs), room, glyphs.ellipsis)
    gap = width - spans_width(left) - spans_width(right)
    return [*left, Span(" " * gap), *right] if gap > 0 else [*left, *right]


def _flat(pieces: Sequence[Piece], glyphs: Glyphs) -> list[Span]:
    return [span for piece in pieces for span in piece_spans(piece, glyphs)]


def wrap_line(line: Line, width: int, glyphs: Glyphs) -> list[Line]:
    """The line broken at spaces into lines of at most `width` cells, later ones indented by `line.indent`.

    A short item of a list, such as a label with its value, stays whole: what is two spaces or more from the next
    one. A number stays with its unit. A word longer than a line, such as an address to copy, is broken at its end.
    """
    spans = _flat(line.left, glyphs)
    if width <= line.indent + 1 or spans_width(spans) + spans_width(_flat(line.right, glyphs)) < width:
        return [line]
    lines: list[list[Span]] = [[]]
    used = 0
    room = width - (spans_width(_flat(line.right, glyphs)) + 1 if line.right else 0)
    for unit in _units(spans, width - line.indent):
        if used + _size(unit) > room and used > (line.indent if len(lines) > 1 else 0):
            lines.append([Span(" " * line.indent)])
            used, room = line.indent, width
            unit = [Span(unit[0].text.lstrip(), unit[0].ink), *unit[1:]]
        lines[-1] += unit
        used += spans_width(unit)
    return [Line(_trimmed(spans), line.right if index == 0 else ()) for index, spans in enumerate(lines)]


def _size(spans: Sequence[Span]) -> int:
    """Cells without the spaces at the end."""
    return width_of("".join(span.text for span in spans).rstrip())


def _trimmed(spans: Sequence[Span]) -> tuple[Piece, ...]:
    """As pieces, without the space at the end of the last one, which would be cut."""
    cells = [Cell(*span) for span in spans]
    return (*cells[:-1], Cell(cells[-1].text.rstrip(), cells[-1].ink)) if cells else ()


def _units(spans: Sequence[Span], most: int) -> Iterator[list[Span]]:
    """What no line may break: short items as a whole, else words; each with the spaces that follow it."""
    item: list[list[Span]] = []
    for word in _words(spans, most):
        if item and _text(item[-1]).endswith("  "):
            yield from _whole(item, most)
            item = []
        item.append(word)
    yield from _whole(item, most)


def _whole(item: list[list[Span]], most: int) -> list[list[Span]]:
    """A short item in one piece; a long one would leave the line before it ragged."""
    together = [span for word in item for span in word]
    if _size(together) <= min(most, max(SHORT_ITEM, most // 2)):
        return [together] if together else []
    words: list[list[Span]] = []
    for word in item:
        if words and _inseparable(_text(words[-1]), _text(word)):
            words[-1] = [*words[-1], *word]
        else:
            words.append(word)
    return words


def _inseparable(before: str, word: str) -> bool:
    """A number and its unit, a number and its sign or name."""
    if _NUMBER.fullmatch(before):
        return width_of(word.rstrip()) <= LONGEST_UNIT
    return before in _BEFORE_NUMBERS and word[:1].isdigit()


def _words(spans: Sequence[Span], most: int) -> list[list[Span]]:
    """The words with the spaces that follow them, in pieces of at most `most` cells; a word may have several inks."""
    words: list[list[Span]] = []
    for text, ink in spans:
        for part in _WORD.findall(text):
            before = _text(words[-1]) if words else ""
            fits = width_of((before + part).rstrip()) <= most
            if words and (not part.strip() or (fits and not before.endswith(" "))):
                words[-1].append(Span(part, ink))
            elif width_of(part.rstrip()) > most:
                words += [[Span(piece, ink)] for piece in chop_cells(part, most)]
            else:
                words.append([Span(part, ink)])
    return words


def _text(spans: Sequence[Span]) -> str:
    return "".join(span.text for span in spans)


def overlay(spans: Sequence[Span], start: int, end: int, ink: str) -> list[Span]:
    """The spans with an ink added from character `start` to `end`; an end of -1 is the end of the line."""
    end = end if end >= 0 else sum(len(span.text) for span in spans)
    out: list[Span] = []
    at = 0
    for text, own in spans:
        low, high = max(start - at, 0), min(end - at, len(text))
        if low < high:
            out += [Span(text[:low], own), Span(text[low:high], f"{own} {ink}".strip()), Span(text[high:], own)]
        else:
            out.append(Span(text, own))
        at += len(text)
    return [span for span in out if span.text]
