"""The frame of every screen: header, NEXT line, panes, footer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from textual.app import ComposeResult
from textual.events import Click
from textual.screen import Screen
from textual.widget import Widget

from console.intents import available, key_name, spoken
from console.screens.deck import deck_of
from console.screens.footer import footer, valid_key
from console.screens.frame import Frame, frame_of
from console.screens.header import paint_header
from console.screens.note_strip import note_lines
from console.screens.pane import DeckPane
from console.screens.replay_bar import moment_at, replay_line
from console.views.next import next_steps
from widgets.cells import StateKind
from widgets.glyphs import UNICODE
from widgets.header_bar import HeaderBar
from widgets.kept import Kept
from widgets.key_line import KeyLine
from widgets.lines import Lines
from widgets.next_line import KeyHint, NextLine


class DeckScreen(Kept, Screen[None]):
    """Subclasses give `body()`; every DeckPane in it is painted on the frame clock."""

    ALLOW_IN_MAXIMIZED_VIEW = "#header, #next, #replay-bar, #note, #footer"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide"), (160, "-huge")]  # noqa: RUF012 - as in Screen
    VERTICAL_BREAKPOINTS = [(0, "-strip"), (20, "-short"), (34, "-tall")]  # noqa: RUF012
    _panes: tuple[DeckPane, ...] = ()

    def compose(self) -> ComposeResult:
        yield HeaderBar(id="header")
        yield NextLine(id="next")
        yield from self.body()
        if deck_of(self).player is not None:
            self.add_class("-replay")
            yield KeyLine(id="replay-bar")
        else:
            yield Lines(id="note", wrap=True)
        yield KeyLine(id="footer")

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
                bar = self.query_one("#replay-bar", Lines)
                bar.set_lines([replay_line(player, frame, self.size.width, bar.glyphs)])
            else:
                strip = self.query_one("#note", Lines)
                strip.set_lines(said := note_lines(frame))
                strip.display = bool(said)
            self.query_one("#footer", Lines).set_lines([footer(frame, self.size.width)])

    def on_key_line_clicked(self, event: KeyLine.Clicked) -> None:
        """A click on a key is the key."""
        deck = deck_of(self)
        wanted = (one for one in available(frame_of(deck).situation) if event.key == key_name(one.keys[0]))
        if intent := next(wanted, None):
            deck.wish(intent.id)
        elif event.key == "enter":
            deck.simulate_key("enter")

    def on_header_bar_clicked(self, event: HeaderBar.Clicked) -> None:
        """A box, and the alerts; the box that is shown leads to the others."""
        deck = deck_of(self)
        if event.text in deck.session.state.hosts and event.text != deck.host_name:
            deck.host_name = event.text
            deck.tick()
        elif event.text == deck.host_name:
            deck.wish("screen_hosts")
        elif event.text.endswith(("alert", "alerts")):
            deck.wish("alerts")

    def on_click(self, event: Click) -> None:
        """A place on the bar of a replay is a moment of it."""
        deck = deck_of(self)
        bar = self.query_one("#replay-bar") if deck.player else None
        if deck.player and bar and bar.region.contains(event.screen_x, event.screen_y):
            line = replay_line(deck.player, frame_of(deck), self.size.width, UNICODE)
            moment = moment_at(line, event.screen_x - bar.content_region.x, deck.player.duration_s)
            if moment is not None:
                deck.player.go_to(moment)
                deck.tick()

    def _paint_next(self, frame: Frame) -> None:
        steps = next_steps(frame.host, frame.now)
        step, more = steps[0], sum(one.level in ("fail", "warn") for one in steps)
        keys = [KeyHint(key, "")] if (key := valid_key(step.key, frame)) else []
        count = f"1/{more}" if more > 1 and step.level in ("fail", "warn") else ""
        self.query_one(NextLine).set_next(cast(StateKind, step.level), spoken(step.sentence, frame.table), keys, count)
