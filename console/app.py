"""The Textual app: wiring, and nothing else. The session lives outside and outlives it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.command import Provider
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver
from textual.events import ScreenSuspend
from textual.screen import Screen

from console.events.link import IntentIssued
from console.intents import INTENTS, Intent, key_of, meant, refusal, twin
from console.screens.base import DeckScreen
from console.screens.bench import BenchScreen
from console.screens.commands import Palette
from console.screens.deck import Deck
from console.screens.frame import frame_of
from console.screens.handlers import HANDLERS
from console.screens.host_keys import HostKeys
from console.screens.hosts import HostsScreen
from console.screens.hub import HubScreen
from console.screens.jobs import JobsScreen
from console.screens.overview import HostScreen, OverviewScreen
from console.screens.plan import PlanScreen
from console.screens.runs import RunsScreen
from console.screens.serve import ServerScreen
from console.screens.telling import Teller
from console.session.player import Player
from console.session.protocol import HostChoice, Session
from console.values import clean
from console.views.notable import notable
from widgets.glyphs import ASCII_CLASS
from widgets.patient_driver import PatientDriver
from widgets.stylesheet import LazyStylesheet
from widgets.themes import DARK, register_themes

FRAMES_PER_S = 4
# Screens that nobody has shown yet are made ready one by one, behind the start and in between keys.
WARM_AFTER_S, WARM_EVERY_S = 2.0, 0.3
MOST_AGE_S = 0.9  # of what is on the screen; a little less than the beat of the clock that it shows
_HERE = Path(__file__).parent
# Beside this file in a wheel, one level up in the source tree.
_STYLES = next(path for path in (_HERE / "console.tcss", _HERE.parent / "console.tcss") if path.exists())

SCREENS: dict[str, type[DeckScreen]] = {
    "hosts": HostsScreen,
    "overview": OverviewScreen,
    "host": HostScreen,
    "hub": HubScreen,
    "jobs": JobsScreen,
    "plan": PlanScreen,
    "server": ServerScreen,
    "bench": BenchScreen,
    "runs": RunsScreen,
}


class ConsoleApp(Deck):
    """Shows one box of the session at a time; `host_name` is empty before one is chosen."""

    CSS_PATH = _STYLES
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = dict(SCREENS)
    COMMAND_PALETTE_BINDING = "ctrl+p"
    COMMANDS: ClassVar[set[type[Provider] | Callable[[], type[Provider]]]] = {Palette}

    def __init__(
        self,
        session: Session,
        *,
        player: Player | None = None,
        theme: str = DARK,
        ascii_only: bool = False,
        colourless: bool = False,
        table: tuple[Intent, ...] = INTENTS,
    ) -> None:
        super().__init__(ansi_color=colourless)
        self.table = table
        for intent in table:
            self.bind(",".join(intent.keys), f"intent('{intent.id}')", description=intent.title, show=False)
        self.session = session
        self.player = player
        self._host_keys = HostKeys()
        self._teller = Teller()
        self._ticked = time.monotonic()
        self._beaten: object = None
        self.host_name = next(iter(session.state.hosts), "")
        self.choices: Sequence[HostChoice] = ()
        self.title = "gpudeck"
        register_themes(self)
        self.theme = theme
        self.stylesheet = LazyStylesheet(variables=self.get_css_variables())
        self.set_class(ascii_only, ASCII_CLASS)

    def get_driver_class(self) -> type[Driver]:
        usual = super().get_driver_class()
        return PatientDriver if usual is LinuxDriver else usual

    async def on_mount(self) -> None:
        await self.switch_mode("overview" if self.host_name or self.player else "hosts")
        self.set_interval(1 / FRAMES_PER_S, self._beat)
        self.call_after_refresh(self._painted_first)

    def _painted_first(self) -> None:
        """Only now the link's own imports, or the search for what was notable, may take the processor."""
        if self.player:  # its search for marks takes the processor that mounting screens would need
            self.run_worker(partial(self.player.find_marks, notable), thread=True)
        elif not self.is_headless:
            self.set_timer(WARM_AFTER_S, self.warm)
        if controls := self.session.controls:
            controls.start()
            self.run_worker(self._read_choices(), exit_on_error=True)

    def warm(self) -> None:
        """Mount the next screen that was never shown, so that to show it costs no more than any other."""
        name = next((name for name in SCREENS if name not in self._screen_stacks), "")
        if name:
            self._init_mode(name)
            self._screen_stacks[name][0].post_message(ScreenSuspend())
            self.set_timer(WARM_EVERY_S, self.warm)

    async def _read_choices(self) -> None:
        if controls := self.session.controls:
            async for self.choices in controls.choices():
                pass

    def _beat(self) -> None:
        """The frame clock: a beat without a new fact has nothing to paint but, once a second, ages and the time."""
        if not self.screen_stack:  # at the end the last screen goes before the clock does
            return
        moment = (self.session.state.seq, self.session.recording, self.host_name, self.choices, self.screen)
        if self.player or moment != self._beaten or time.monotonic() - self._ticked > MOST_AGE_S:
            self._beaten = moment
            self.tick()

    def tick(self) -> None:
        """Paint this moment: the visible screen alone, behind a dialog, too."""
        before, self._ticked = self._ticked, time.monotonic()
        if self.player:
            self.player.tick(self._ticked - before)
        if not self.host_name:
            self.host_name = next(iter(self.session.state.hosts), "")
        screen = next((one for one in reversed(self.screen_stack) if isinstance(one, DeckScreen)), None)
        if screen is not None:
            screen.repaint()
        if screen is self.screen:
            self._host_keys.look(self, frame_of(self))
        self._teller.look(self, frame_of(self))

    def show_host(self, name: str) -> None:
        """Show a box, opening it when it is not open."""
        if name not in self.session.state.hosts and self.session.controls:
            self.session.controls.open_host(name)
        self.host_name = name
        self.switch_mode("overview")

    # --- intents

    def action_intent(self, intent_id: str) -> None:
        """Grant a wish, or say which guard refused it; either is in the record."""
        self.wish(intent_id)

    def wish(self, intent_id: str, argument: str = "") -> None:
        """Grant it, with what was typed behind it; the key of another kind of session does and says nothing."""
        frame = frame_of(self)._replace(argument=argument)
        intent = meant(next(one for one in self.table if one.id == intent_id), frame.situation)
        if intent.where == "replay" and self.session.controls:
            return
        refused = refusal(intent, frame.situation)
        host = frame.host.name if frame.host else ""
        if intent.where == "live" and self.session.controls:
            issued = IntentIssued(
                host=host, key=clean(intent.id), command=clean(twin(intent, host, argument)), refused_by=clean(refused)
            )
            self.session.controls.publish(issued)
        if refused:
            self.clear_notifications()  # a key that is pressed again says the same once
            self.notify(refused, severity="warning")
            return
        HANDLERS[intent.id](self, frame)

    def action_help_quit(self) -> None:
        """ctrl+c copies what is selected, and never quits: say what does."""
        self.clear_notifications()
        self.notify(f"{key_of('quit', self.table)} quits, ctrl+q too; ctrl+c copies what is selected")

    def tell_terminal(self, sequence: str) -> None:
        """Only sequences of our own making with cleaned text come here; a headless app has no terminal."""
        if self._driver is not None and not self.is_headless:
            self._driver.write(sequence)
            self._driver.flush()
