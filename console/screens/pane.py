"""A pane of the console: the titled frame, painted only when its slices of the state changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple, cast

from textual.screen import Screen

from console.intents import Intent, key_of
from console.screens.deck import deck_of
from console.screens.frame import STALE_S, Frame, stale_text
from console.values import Unknown, known
from widgets.cells import Cell, Line
from widgets.lines import Lines
from widgets.pane import Hint, Pane, inner_focus


class Named(NamedTuple):
    """An action at the edge of a pane, by its id: its key is the user's."""

    intent: str
    does: str


def fill(widget: Lines, lines: Sequence[Line]) -> None:
    """Show these lines; without any, the widget takes no room."""
    widget.display = bool(lines)
    widget.set_lines(lines)


def sentence(text: str, ink: str = "") -> Line:
    """One of several sentences: where it wraps it hangs, so that the next one is seen to begin."""
    return Line((Cell(text, ink),), indent=len(text) - len(text.lstrip()) + 2)


def _older(data_t: float | Unknown, heard_t: float | Unknown) -> float | Unknown:
    return min(data_t, heard_t) if known(data_t) and known(heard_t) else heard_t


def hints_of(table: tuple[Intent, ...], *hints: Named | Hint) -> list[Hint]:
    """The hints with the keys of this table; a click on one is its key."""
    return [
        Hint(key_of(hint.intent, table), hint.does, f"app.intent('{hint.intent}')") if isinstance(hint, Named) else hint
        for hint in hints
    ]


class DeckPane(Pane):
    """Subclasses name their slices and implement `show`, and `data_t` when their data ages by itself.

    `stale_after_s` allows for the period of the data; without a link nothing new can come, whatever the period.
    """

    title_action: ClassVar[str] = "zoom_here"
    slices: ClassVar[tuple[str, ...]] = ()
    hints: ClassVar[tuple[Named | Hint, ...]] = ()
    stale_after_s: ClassVar[float] = 3.0
    _painted: object = None

    def on_mount(self) -> None:
        if self.hints:
            self.set_foot(hints_of(deck_of(cast("Screen[None]", self.screen)).table, *self.hints))

    def action_zoom_here(self) -> None:
        """A click on the title is the key of zoom, for this pane."""
        screen = cast("Screen[None]", self.screen)
        screen.set_focus(inner_focus(self))
        deck_of(screen).wish("zoom")

    def paint(self, frame: Frame) -> None:
        """Paint what changed since the last frame."""
        host = frame.host
        connected = host is not None and host.link.state == "up"
        data_t = self.data_t(frame) if connected or host is None else _older(self.data_t(frame), host.link.heard_t)
        stale = stale_text(data_t, frame.now, self.stale_after_s if connected else STALE_S)
        key = (host.name, *(host.revisions[name] for name in self.slices), stale) if host else None
        if key == self._painted and key is not None:
            return
        self._painted = key
        self.set_stale(stale)
        self.show(frame)

    def data_t(self, frame: Frame) -> float | Unknown:
        """When the newest data of the pane was true; without a link every pane is as old as the link at least."""
        return Unknown("true until something else is told")

    def show(self, frame: Frame) -> None:
        """Hand the rows of this moment to the widgets."""
        raise NotImplementedError
