"""The top line: what is connected, how fresh, recorded or replayed, what may be changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.events import Click
from textual.message import Message

from widgets.cells import Cell, Line, Piece, spans_width, width_of
from widgets.layout import line_spans, piece_spans
from widgets.lines import Lines


class Part(NamedTuple):
    """One piece of the bar; priority 0 always stays, the highest is dropped first when the bar is narrow."""

    pieces: tuple[Piece, ...]
    priority: int = 0


class HeaderBar(Lines):
    """Parts joined by a quiet separator, some at the left, some at the right end."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._left: tuple[Part, ...] = ()
        self._right: tuple[Part, ...] = ()

    class Clicked(Message):
        """A piece of the bar was clicked: its text, without brackets."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def on_click(self, event: Click) -> None:
        """Find the piece under the mouse."""
        x, at = event.get_content_offset_capture(self).x, 0
        for text, _ in line_spans(self._shown[0], self.size.width, self.glyphs) if self._shown else ():
            at += width_of(text)
            if x < at:
                self.post_message(self.Clicked(text.strip("[] ")))
                return

    def set_parts(self, left: Sequence[Part], right: Sequence[Part] = ()) -> None:
        """Show these parts."""
        new = tuple(left), tuple(right)
        if new != (self._left, self._right):
            self._left, self._right = new
            self.reflow()

    def lines_for(self, width: int) -> list[Line]:
        """The one line, without the parts that do not fit."""
        left, right = list(self._left), list(self._right)
        while width and self._width(left) + self._width(right) + 1 > width:
            droppable = [part for part in [*left, *right] if part.priority]
            if not droppable:
                break
            victim = max(droppable, key=lambda part: part.priority)
            (left if victim in left else right).remove(victim)
        return [Line(self._joined(left), self._joined(right))]

    def _joined(self, parts: Sequence[Part]) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        for part in parts:
            if pieces:
                pieces.append(Cell(f" {self.glyphs.separator} ", "track"))
            pieces += part.pieces
        return tuple(pieces)

    def _width(self, parts: Sequence[Part]) -> int:
        return sum(spans_width(piece_spans(piece, self.glyphs)) for piece in self._joined(parts))
