"""Intents of a replay: pause, step, jump, speed, the next notable event."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.session.moments import parse_moment
from console.session.player import Player
from console.views.notable import notable
from widgets.dialog import AskDialog

Move = Callable[[Player], object]


def _playing(move: Move) -> Callable[[Deck, Frame], None]:
    def handle(app: Deck, _frame: Frame) -> None:
        if app.player:
            move(app.player)
            app.tick()

    return handle


def _notable(app: Deck, _frame: Frame) -> None:
    if app.player:
        if app.player.next_notable(notable) is None:
            app.notify("no further notable event")
        app.tick()


def _go_to(app: Deck, _frame: Frame) -> None:
    def given(moment: float | None) -> None:
        if moment is not None and app.player:
            app.player.go_to(moment)

    rows = [("a moment", "seconds since the start, or HH:MM:SS (UTC)")]
    app.push_screen(AskDialog("Go to", rows, lambda text: parse_moment(text, app.session.header)), given)


HANDLERS: Mapping[str, Handler] = {
    "play": _playing(Player.toggle),
    "step": _playing(Player.step),
    "back_10": _playing(lambda player: player.jump(-10.0)),
    "on_10": _playing(lambda player: player.jump(10.0)),
    "faster": _playing(lambda player: player.faster(1)),
    "slower": _playing(lambda player: player.faster(-1)),
    "go_to": _go_to,
    "notable": _notable,
}
