"""The frame of every screen: header, NEXT line, panes, footer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from textual.app import ComposeResult
from textual.screen import Screen
from textual.widget import Widget

from console.intents import available
from console.screens.deck import deck_of
from console.screens.frame import Frame, frame_of
from console.screens.header import paint_header
from console.screens.pane import DeckPane
from console.screens.replay_bar import replay_line
from console.views.next import next_step
from widgets.cells import Cell, Line, Piece, StateKind
from widgets.header_bar import HeaderBar
from widgets.lines import Lines
from widgets.next_line import KeyHint, NextLine

_KEY_NAMES = {"question_mark": "?", "colon": ":", "exclamation_mark": "!", "left_square_bracket": "[",
              "right_square_bracket": "]", "escape": "esc", "slash": "/", "ampersand": "&", "full_stop": ".",
              "left_curly_bracket": "{", "right_curly_bracket": "}", "plus": "+", "minus": "-"}  # fmt: skip


def key_name(key: str) -> str:
    """A key as the user knows it."""
    return _KEY_NAMES.get(key, key)


class DeckScreen(Screen[None]):
    """Subclasses give `body()`; every DeckPane in it is painted on the frame clock."""

    ALLOW_IN_MAXIMIZED_VIEW = "#header, #next, #replay-bar, #footer"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (160, "-huge")]  # noqa: RUF012 - as in Screen
    VERTICAL_BREAKPOINTS = [(0, "-strip"), (20, "-short"), (34, "-tall")]  # noqa: RUF012
    _panes: tuple[DeckPane, ...] = ()

    def compose(self) -> ComposeResult:
        yield HeaderBar(id="header")
        yield NextLine(id="next")
        yield from self.body()
        if deck_of(self).player is not None:
            yield Lines(id="replay-bar")
        yield Lines(id="footer")

    def body(self) -> Iterable[Widget]:
        """The panes."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self.repaint()

    def on_screen_resume(self) -> None:
        self.repaint()

    def repaint(self) -> None:
        """Paint this moment."""
        parts = {child.id for child in self.children}
        if self.is_mounted and parts.issuperset(("header", "footer")):  # not yet composed, or going already
            self._panes = self._panes or tuple(self.query(DeckPane))
            self.paint(frame_of(deck_of(self)))

    def paint(self, frame: Frame) -> None:
        """Paint a frame: only what changed reaches the terminal."""
        with self.app.batch_update():
            paint_header(self.query_one("#header", HeaderBar), frame)
            self._paint_next(frame)
            for pane in self._panes:
                if pane.is_attached:
                    pane.paint(frame)
            if player := deck_of(self).player:
                self.query_one("#replay-bar", Lines).set_lines([replay_line(player)])
            self.query_one("#footer", Lines).set_lines([_footer(frame)])

    def _paint_next(self, frame: Frame) -> None:
        step = next_step(frame.host, frame.now)
        keys = [KeyHint(step.key, "")] if step.key else []
        self.query_one(NextLine).set_next(cast(StateKind, step.level), step.sentence, keys)


def _footer(frame: Frame) -> Line:
    pieces: list[Piece] = [Cell(" ")]
    for intent in available(frame.situation):
        if intent.footer:
            pieces += [Cell(key_name(intent.keys[0]), "key"), Cell(f" {intent.title.lower()}   ", "dim")]
    pieces += [Cell("0-8", "key"), Cell(" screens", "dim")]
    return Line(tuple(pieces))
