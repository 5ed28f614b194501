"""The help overlay: first what the focus and this screen are for, then every key of the session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Key
from textual.screen import ModalScreen, Screen

from console.intents import Intent, available, key_name, key_of, refusal, spoken, twin
from console.screens.frame import Frame
from widgets.cells import Cell, Line
from widgets.lines import Lines
from widgets.pane import Hint, Pane

EXAMPLES = (
    ("deploy", "{}  a recipe's name  enter  enter", "deploy: gates, download, start, smoke test"),
    ("palette", "{} serve start NAME", "any action by its name, with its argument"),
    ("find", "{} text  enter   n  p", "find in a log or a list, then the next and the previous"),
)


class HelpScreen(ModalScreen[None]):
    """Closes with escape, or with the keys of help and quit; scrolls where it is higher than the terminal."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.pop_screen", "close", show=False),
        Binding("down,j", "scroll(1)", "down", show=False),
        Binding("up,k", "scroll(-1)", "up", show=False),
        Binding("pagedown,space", "scroll(10)", "page down", show=False),
        Binding("pageup", "scroll(-10)", "page up", show=False),
    ]

    def __init__(self, screen: Screen[object], frame: Frame) -> None:
        super().__init__()
        self._frame = frame
        self._focused = list(_keys_of_focus(screen))

    def compose(self) -> ComposeResult:
        lines = Lines(wrap=True, id="help-lines")
        lines.set_lines(list(self._lines()))
        pane = Pane("Help", VerticalScroll(lines, can_focus=False), id="help")
        pane.set_foot([Hint("esc", "close", "app.pop_screen"), Hint("↓ ↑", "scroll")])
        yield pane

    def on_key(self, event: Key) -> None:
        """What opened it closes it."""
        if any(event.key in intent.keys for intent in self._frame.table if intent.id in ("help", "quit")):
            event.stop()
            self.dismiss()

    def action_scroll(self, lines: int) -> None:
        """Move the text."""
        self.query_one(VerticalScroll).scroll_relative(y=lines, animate=False)

    def _lines(self) -> Iterator[Line]:
        frame = self._frame
        yield _head("Examples")
        for intent, keys, does in EXAMPLES:
            yield Line((Cell(f"{keys.format(key_of(intent, frame.table)):<34}  ", "key"), Cell(does)), indent=36)
        intents = available(frame.situation)
        if self._focused:
            yield _head("In this pane")
            yield Line((Cell("  ".join(self._focused), "label"),))
        home = [one for one in intents if frame.screen in one.home]
        if home:
            yield _head("On this screen")
            yield from map(self._line, home)
        yield _head("Everywhere")
        rest = [one for one in intents if one not in home]
        yield from map(self._line, sorted(rest, key=lambda one: bool(refusal(one, frame.situation))))

    def _line(self, intent: Intent) -> Line:
        host = self._frame.host.name if self._frame.host else "HOST"
        refused = refusal(intent, self._frame.situation)
        same = f"   same as: {twin(intent, host)}" if intent.command and not refused else ""
        return Line(
            (
                Cell(f"{key_name(intent.keys[0]):>6}  ", "key"),
                Cell(f"{intent.title:<16} ", "dim" if refused else "strong"),
                Cell(refused or spoken(intent.help, self._frame.table), "dim" if refused else ""),
                Cell(same, "dim"),
            ),
            indent=25,
        )


def _head(text: str) -> Line:
    return Line((Cell(text, "head bold"),))


def _keys_of_focus(screen: Screen[object]) -> Iterable[str]:
    """`↑ k up`: what the widget with the focus, and what it stands in, bind besides the actions."""
    if screen.focused is None:
        return
    inner = set(screen.focused.ancestors_with_self) - set(screen.ancestors_with_self)
    found: dict[str, list[str]] = {}
    for key, active in screen.active_bindings.items():
        if active.node in inner and active.binding.description:
            found.setdefault(active.binding.description, []).append(key_name(key))
    for does, keys in found.items():
        yield f"{'/'.join(keys)} {does}"
