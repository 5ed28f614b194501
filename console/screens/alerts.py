"""The alerts of a box, and what the user wants to be told of: two overlays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from console.events.alerts import AlertsAcknowledged, Moment, TellAsked
from console.screens.deck import Deck, deck_of
from console.screens.frame import Frame, frame_of
from console.screens.handler import Handler
from console.values import clean
from console.views.alerts import MOMENTS, alert_rows
from widgets.cells import Cell, Row, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.pane import Hint, Pane

COLUMNS = (
    Column("", 6),
    Column("ago", 12, align="right"),
    Column("lasted", 12, align="right", priority=1),
    Column("alert", 20, flex=1),
)


class Overlay(ModalScreen[None]):
    """A table over the screen; escape closes it, the frame clock paints it, too."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "app.pop_screen", "close", show=False)]

    def __init__(self, title: str, columns: tuple[Column, ...], empty: str, *hints: Hint) -> None:
        super().__init__()
        self.table = LineTable(columns, cursor=True, empty=empty, id="overlay-table")
        self._title, self._hints = title, (*hints, Hint("esc", "close", "app.pop_screen"))

    def compose(self) -> ComposeResult:
        pane = Pane(self._title, self.table, id="overlay")
        pane.set_foot(self._hints)
        yield pane

    def on_mount(self) -> None:
        self.table.focus()
        self.repaint()
        self.set_interval(0.5, self.repaint)

    def repaint(self) -> None:
        """Paint this moment."""
        self.table.set_rows(self.rows(frame_of(deck_of(self))))

    def action_choose(self) -> None:
        """What enter does."""
        self.table.action_choose()

    def rows(self, frame: Frame) -> list[Row]:
        """What stands in the table."""
        raise NotImplementedError


class AlertsScreen(Overlay):
    """`enter` marks the alert under the cursor as seen, `a` all of them."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("a", "all_seen", "all seen", show=False)]

    def __init__(self) -> None:
        hints = (Hint("enter", "seen", "screen.choose"), Hint("a", "all seen", "screen.all_seen"))
        super().__init__("Alerts", COLUMNS, "nothing was wrong yet", *hints)

    def rows(self, frame: Frame) -> list[Row]:
        host = frame.host
        return [
            Row(
                (State(cast(StateKind, row.kind), row.word), Cell(row.ago, "label"), Cell(row.lasted, "dim"),
                 Cell(row.sentence, "dim" if row.kind == "off" else "")),
                key=row.id,
            )
            for row in (alert_rows(host, frame.now) if host else ())
        ]  # fmt: skip

    @on(LineTable.Chosen)
    def _chosen(self, message: LineTable.Chosen) -> None:
        self._seen((message.key,))

    def action_all_seen(self) -> None:
        """Everything is seen."""
        host = frame_of(deck_of(self)).host
        self._seen(tuple(host.alerts.current) if host else ())

    def _seen(self, ids: tuple[str, ...]) -> None:
        deck = deck_of(self)
        host = frame_of(deck).host
        if host and deck.session.controls:
            fresh = tuple(clean(one) for one in ids if one in host.alerts.current)
            deck.session.controls.publish(AlertsAcknowledged(host=host.name, alerts=fresh))
            self.repaint()


class TellScreen(Overlay):
    """`enter` asks to be told of what is under the cursor, or takes it back."""

    def __init__(self) -> None:
        columns = (Column("", 8), Column("tell me when", 20, flex=1))
        super().__init__("Tell me when", columns, "", Hint("enter", "on or off", "screen.choose"))

    def rows(self, frame: Frame) -> list[Row]:
        wanted = frame.host.alerts.wanted if frame.host else set()
        return [
            Row((State("busy" if moment in wanted else "off", "on" if moment in wanted else "off"), Cell(text)), moment)
            for moment, text in MOMENTS.items()
        ]

    @on(LineTable.Chosen)
    def _chosen(self, message: LineTable.Chosen) -> None:
        deck, moment = deck_of(self), cast(Moment, message.key)
        host = frame_of(deck).host
        if host and deck.session.controls:
            wanted = moment not in host.alerts.wanted
            deck.session.controls.publish(TellAsked(host=host.name, moment=moment, wanted=wanted))
            self.repaint()


def _alerts(app: Deck, _frame: Frame) -> None:
    app.push_screen(AlertsScreen())


def _tell(app: Deck, _frame: Frame) -> None:
    app.push_screen(TellScreen())


HANDLERS: Mapping[str, Handler] = {"alerts": _alerts, "tell": _tell}
