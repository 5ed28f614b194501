"""What screens and handlers may ask of the app around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, cast

from rich.text import Text
from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.events import Event, Key, Paste
from textual.notifications import SeverityLevel
from textual.screen import Screen
from textual.widget import AwaitMount

from console.intents import Intent, spoken
from console.session.player import Player
from console.session.protocol import HostChoice, Session
from console.values.secrets import trace
from widgets.key_turns import KeyTurns

MASK_NEW_S, MASK_READY_S = 0.05, 0.01


class Deck(App[None]):
    """The app as its screens know it. `host_name` is the box that is shown, empty before one is chosen."""

    session: Session
    player: Player | None
    host_name: str
    choices: Sequence[HostChoice]
    table: tuple[Intent, ...]
    _mask_s: float = MASK_NEW_S

    # To the shell from a dialog and the palette, too: the app's other keys are not meant there.
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+z", "intent('suspend')", show=False, priority=True)]

    def __init__(self, *, ansi_color: bool = False) -> None:
        super().__init__(ansi_color=ansi_color)
        self.animation_level = "none"  # a page on from the midst of a scroll is less than a page, and each step is sent
        self._typed = KeyTurns(self, super().on_event)

    async def on_event(self, event: Event) -> None:
        """Keys that are typed in one go arrive in turn."""
        if isinstance(event, Key | Paste) and not event.is_forwarded:
            await self._typed.take(event)
        else:
            await super().on_event(event)

    @on(Driver.SignalResume)
    def _paint_all(self) -> None:
        """The terminal holds what others wrote meanwhile."""
        self.refresh(layout=True)

    def switch_mode(self, mode: str) -> AwaitMount:
        """Show a screen; one that is there already needs no longer to be ready than its paint."""
        self._mask_s = MASK_READY_S if mode in self._screen_stacks else MASK_NEW_S
        return super().switch_mode(mode)

    def delay_update(self, delay: float = 0.0) -> None:
        """Textual holds every change of screens back for as long as a new one takes to be composed."""
        super().delay_update(delay or self._mask_s)

    def notify(
        self,
        message: str,
        *,
        title: str = "",
        severity: SeverityLevel = "information",
        timeout: float | None = None,
        markup: bool = False,
    ) -> None:
        """A toast, with the user's keys. What a box said may stand in it: it is never markup."""
        said = spoken(message, self.table)
        super().notify(said, title=title, severity=severity, timeout=timeout, markup=markup)

    def _fatal_error(self) -> None:
        """Textual's own report shows the values of all variables, secrets among them."""
        if self._exception is not None:
            self.panic(Text(trace(self._exception)))

    def show_host(self, name: str) -> None:
        """Show a box, opening it when it is not open."""
        raise NotImplementedError

    def wish(self, intent_id: str, argument: str = "") -> None:
        """Grant a wish, or say which guard refused it."""
        raise NotImplementedError

    def tell_terminal(self, sequence: str) -> None:
        """Write a control sequence of our own making to the terminal; without one, nothing."""
        raise NotImplementedError

    def tick(self) -> None:
        """Paint now instead of at the next beat of the frame clock."""
        raise NotImplementedError


def deck_of(screen: Screen[None]) -> Deck:
    """The deck that a screen stands on."""
    return cast(Deck, screen.app)
