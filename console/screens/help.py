"""The help overlay: every key of this session, from the table of intents."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from console.intents import Intent, refusal, twin
from console.screens.base import key_name
from console.screens.frame import Frame
from widgets.cells import Cell, Line
from widgets.lines import Lines
from widgets.pane import Pane


class HelpScreen(ModalScreen[None]):
    """Closes with escape, `?` or `q`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,f1,q", "app.pop_screen", "close", show=False)
    ]

    def __init__(self, intents: tuple[Intent, ...], frame: Frame) -> None:
        super().__init__()
        self._intents = intents
        self._frame = frame

    def compose(self) -> ComposeResult:
        lines = Lines(id="help-lines")
        lines.set_lines([self._line(intent) for intent in self._intents])
        yield Pane("Help", lines, keys="esc closes", id="help")

    def _line(self, intent: Intent) -> Line:
        host = self._frame.host.name if self._frame.host else "HOST"
        refused = refusal(intent, self._frame.situation)
        keys = " ".join(key_name(key) for key in intent.keys[:1])
        same = f"   same as: {twin(intent, host)}" if intent.command and not refused else ""
        return Line(
            (
                Cell(f"{keys:>5}  ", "key"),
                Cell(f"{intent.title:<16}", "dim" if refused else "strong"),
                Cell(refused or intent.help, "dim" if refused else ""),
                Cell(same, "dim"),
            )
        )
