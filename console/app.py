"""The Textual app: wiring, and nothing else. The session lives outside and outlives it."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen

from console.events.link import IntentIssued
from console.intents import BY_ID, INTENTS, Intent, available, refusal, twin
from console.screens.base import DeckScreen
from console.screens.frame import Frame, frame_of
from console.screens.help import HelpScreen
from console.screens.hosts import HostsScreen
from console.screens.overview import HostScreen, OverviewScreen
from console.session.protocol import HostChoice, Session
from console.values import clean
from console.views.text import status_lines
from widgets.glyphs import ASCII_CLASS
from widgets.themes import DARK, register_themes

FRAMES_PER_S = 4
_HERE = Path(__file__).parent
# Beside this file in a wheel, one level up in the source tree.
_STYLES = next(path for path in (_HERE / "console.tcss", _HERE.parent / "console.tcss") if path.exists())

SCREENS: dict[str, type[DeckScreen]] = {"hosts": HostsScreen, "overview": OverviewScreen, "host": HostScreen}


class ConsoleApp(App[None]):
    """Shows one box of the session at a time; `host_name` is empty before one is chosen."""

    CSS_PATH = _STYLES
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = dict(SCREENS)
    COMMAND_PALETTE_BINDING = "ctrl+p"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(intent.keys), f"intent('{intent.id}')", intent.title, show=False) for intent in INTENTS
    ]

    def __init__(self, session: Session, *, theme: str = DARK, ascii_only: bool = False, screen: str = "") -> None:
        super().__init__()
        self.session = session
        self.host_name = next(iter(session.state.hosts), "")
        self.choices: Sequence[HostChoice] = ()
        self.title = "gpudeck"
        self._first_mode = screen or ("overview" if self.host_name else "hosts")
        register_themes(self)
        self.theme = theme
        self.set_class(ascii_only, ASCII_CLASS)

    async def on_mount(self) -> None:
        await self.switch_mode(self._first_mode)
        self.set_interval(1 / FRAMES_PER_S, self.tick)
        self.call_after_refresh(self._painted_first)

    def _painted_first(self) -> None:
        """Only now the link's own imports may take the processor."""
        if controls := self.session.controls:
            controls.start()
            self.run_worker(self._read_choices(), exit_on_error=True)

    async def _read_choices(self) -> None:
        if controls := self.session.controls:
            self.choices = await controls.choices()

    def tick(self) -> None:
        """One beat of the frame clock: the visible screen alone is painted."""
        if not self.host_name:
            self.host_name = next(iter(self.session.state.hosts), "")
        if isinstance(self.screen, DeckScreen):
            self.screen.repaint()

    def show_host(self, name: str) -> None:
        """Show a box, opening it when it is not open."""
        if name not in self.session.state.hosts and self.session.controls:
            self.session.controls.open_host(name)
        self.host_name = name
        self.switch_mode("overview")

    # --- intents

    def action_intent(self, intent_id: str) -> None:
        """Grant a wish, or say which guard refused it; either is in the record."""
        intent, frame = BY_ID[intent_id], frame_of(self)
        refused = refusal(intent, frame.situation)
        host = frame.host.name if frame.host else ""
        if intent.live and self.session.controls:
            issued = IntentIssued(
                host=host, key=clean(intent.id), command=clean(twin(intent, host)), refused_by=clean(refused)
            )
            self.session.controls.publish(issued)
        if refused:
            self.notify(refused, severity="warning")
            return
        if intent.id.startswith("screen_"):
            self.switch_mode(intent.id.removeprefix("screen_"))
        else:
            getattr(self, f"do_{intent.id}")(intent, frame)

    def do_help(self, _intent: Intent, frame: Frame) -> None:
        self.push_screen(HelpScreen(available(frame.situation), frame))

    def do_palette(self, _intent: Intent, _frame: Frame) -> None:
        self.action_command_palette()

    def do_back(self, _intent: Intent, _frame: Frame) -> None:
        if self.screen.maximized:
            self.screen.minimize()
        elif self.host_name:
            self.switch_mode("overview")

    def do_quit(self, _intent: Intent, _frame: Frame) -> None:
        self.exit()

    def do_zoom(self, _intent: Intent, _frame: Frame) -> None:
        if self.screen.maximized:
            self.screen.minimize()
        elif self.focused:
            self.screen.maximize(self.focused)

    def do_check_again(self, _intent: Intent, frame: Frame) -> None:
        if self.session.controls and frame.host:
            self.session.controls.again(frame.host.name)

    def do_copy(self, _intent: Intent, frame: Frame) -> None:
        if frame.host:
            self.copy_to_clipboard("\n".join(status_lines(frame.host, frame.now)))
            self.notify(f"copied the status of {frame.host.name}")

    def do_next_box(self, _intent: Intent, _frame: Frame) -> None:
        self._turn(1)

    def do_previous_box(self, _intent: Intent, _frame: Frame) -> None:
        self._turn(-1)

    def _turn(self, step: int) -> None:
        names = list(self.session.state.hosts)
        self.host_name = names[(names.index(self.host_name) + step) % len(names)]
        self.tick()

    def do_shell(self, _intent: Intent, frame: Frame) -> None:
        if self.session.controls and frame.host:
            with self.suspend():
                subprocess.run(self.session.controls.shell_command(frame.host.name), check=False)

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """The palette, from the same table."""
        frame = frame_of(self)
        for intent in available(frame.situation):
            if intent.id != "palette":
                yield SystemCommand(intent.title, intent.help, lambda name=intent.id: self.action_intent(name))
