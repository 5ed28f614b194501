"""A canvas of braille dots, 2×4 a cell: pure Python, whole vertical runs at a time.

Dots are or-ed into cells, so crossing curves both stay visible; a cell has the ink of the last curve through it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor

from widgets.cells import Span

# Bits of the dots of a cell, left and right column, top to bottom.
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))
# _RUNS[side][top][bottom]: the bits of a vertical run inside one cell.
_RUNS = tuple(
    tuple(tuple(sum(column[top : bottom + 1]) for bottom in range(4)) for top in range(4)) for column in _DOTS
)
_UPPER, _LOWER = 0x1B, 0xE4
BLANK = 0x2800


class Canvas:
    """`width` × `height` cells, 2·width × 4·height dots; dot (0, 0) is at the top left."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self.dots_wide = 2 * width
        self.dots_high = 4 * height
        self._bits = [0] * (width * height)
        self._inks = [""] * (width * height)
        self._marks: dict[int, tuple[str, str]] = {}

    def run(self, x: int, top: int, bottom: int, ink: str) -> None:
        """A vertical run of dots in column `x`, both ends included, clipped to the canvas."""
        if not 0 <= x < self.dots_wide or bottom < 0 or top >= self.dots_high:
            return
        top, bottom = max(top, 0), min(bottom, self.dots_high - 1)
        runs = _RUNS[x & 1]
        row, last = top >> 2, bottom >> 2
        cell = row * self.width + (x >> 1)
        bits, inks = self._bits, self._inks
        while row < last:
            bits[cell] |= runs[top & 3][3]
            inks[cell] = ink
            top, row, cell = 0, row + 1, cell + self.width
        bits[cell] |= runs[top & 3][bottom & 3]
        inks[cell] = ink

    def line(self, x0: int, y0: int, x1: int, y1: int, ink: str) -> None:
        """A straight line, drawn as one run a column; neighbouring runs touch and do not overlap."""
        if x0 > x1:
            x0, y0, x1, y1 = x1, y1, x0, y0
        if x0 == x1:
            self.run(x0, min(y0, y1), max(y0, y1), ink)
            return
        slope = (y1 - y0) / (x1 - x0)
        step = 1 if y1 >= y0 else -1
        start = y0
        for x in range(max(x0, 0), min(x1, self.dots_wide - 1) + 1):
            middle = y0 + slope * (x - x0 + 0.5)
            end = y1 if x >= x1 else ceil(middle - 0.5) if step > 0 else floor(middle + 0.5)
            if (end - start) * step < 0:
                start = end
            self.run(x, min(start, end), max(start, end), ink)
            start = end + step if slope else end

    def mark(self, x: int, y: int, glyph: str, ink: str) -> None:
        """A marker glyph in the cell of a dot; it stands over the dots."""
        if 0 <= x < self.dots_wide and 0 <= y < self.dots_high:
            self._marks[(y >> 2) * self.width + (x >> 1)] = (glyph, ink)

    def level(self, y: int, ink: str) -> None:
        """A dashed horizontal line, under what is drawn later."""
        for x in range(0, self.dots_wide, 3):
            self.run(x, y, y, ink)

    def rows(self, ascii: bool = False) -> list[list[Span]]:
        """The canvas by rows of spans, neighbours of one ink joined."""
        return [self._row(row, ascii) for row in range(self.height)]

    def _row(self, row: int, ascii: bool) -> list[Span]:
        start = row * self.width
        glyphs = [_ascii(bits) if ascii else chr(BLANK + bits) if bits else " " for bits in self._row_bits(start)]
        inks = self._inks[start : start + self.width]
        for at in range(self.width) if self._marks else ():
            mark = self._marks.get(start + at)
            if mark:
                glyphs[at], inks[at] = mark
        return _joined(glyphs, inks)

    def _row_bits(self, start: int) -> Sequence[int]:
        return self._bits[start : start + self.width]


def _ascii(bits: int) -> str:
    """The dots of a cell as one ASCII character."""
    if not bits:
        return " "
    upper, lower = bits & _UPPER, bits & _LOWER
    return ":" if upper and lower else "'" if upper else "."


def _joined(glyphs: Sequence[str], inks: Sequence[str]) -> list[Span]:
    spans: list[Span] = []
    start = 0
    for at in range(1, len(glyphs) + 1):
        if at == len(glyphs) or inks[at] != inks[start]:
            spans.append(Span("".join(glyphs[start:at]), inks[start]))
            start = at
    return spans
