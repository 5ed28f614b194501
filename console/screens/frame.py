"""What a frame is painted from."""

from __future__ import annotations

from typing import NamedTuple

from console.intents import Intent, Situation
from console.screens.deck import Deck
from console.session.protocol import Session
from console.state import HostState
from console.values import Unknown, format_duration, known

STALE_S = 3.0


class Frame(NamedTuple):
    """The session, the box that is shown (None before one is chosen), the moment; the table of intents, the screen's
    name, and what was typed behind an action in the palette."""

    session: Session
    host: HostState | None
    now: float
    table: tuple[Intent, ...] = ()
    screen: str = ""
    argument: str = ""

    @property
    def situation(self) -> Situation:
        """What the guards of intents look at."""
        session = self.session
        replayed = session.controls is None
        return Situation(self.host, len(session.state.hosts), session.read_only, replayed, self.table, self.screen)


def frame_of(app: Deck) -> Frame:
    """The frame of this moment."""
    session = app.session
    return Frame(session, session.state.hosts.get(app.host_name), session.now(), app.table, app.current_mode)


def stale_text(t: float | Unknown, now: float, limit_s: float = STALE_S) -> str:
    """`stale 14 s` when the data of `t` is older than the limit; empty while it is fresh or was never there."""
    if not known(t) or now - t <= limit_s:
        return ""
    return f"stale {format_duration(now - t)}"
