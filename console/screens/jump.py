"""`ctrl+o`: a letter on every pane and row that can be gone to; typing it goes there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Key
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from widgets.line_table import LineTable
from widgets.pane import Pane, inner_focus

LETTERS = "asdfghjklqwertyuiopzxcvbnm0123456789"


class Target(NamedTuple):
    """Where a letter stands, and what typing it does."""

    at: Offset
    go: Callable[[], object]


def targets(screen: Screen[object]) -> Iterator[Target]:
    """Every pane in sight, then every row in sight of its lists."""
    panes = [pane for pane in screen.query(Pane) if pane.region and screen.region.overlaps(pane.region)]
    for pane in panes:
        yield Target(pane.region.offset, lambda pane=pane: into(pane))  # type: ignore[misc]
    for table in screen.query(LineTable):
        if table.cursor and table.region:
            for line, key in table.places():
                at = Offset(table.content_region.x - 2, table.content_region.y + line)
                if screen.region.contains_point(at):
                    yield Target(at, lambda table=table, key=key: (table.focus(), table.select(key)))  # type: ignore[misc]


def into(pane: Pane) -> None:
    """Give the focus to a pane, or to what inside it takes the keys."""
    inner_focus(pane).focus()


class JumpScreen(ModalScreen[Target]):
    """Letters over the screen; any other key takes them away."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "close", show=False)]

    def __init__(self, screen: Screen[object]) -> None:
        super().__init__(classes="jump")
        self._targets = dict(zip(LETTERS, targets(screen), strict=False))

    def compose(self) -> ComposeResult:
        for letter, target in self._targets.items():
            label = Static(Content(letter), classes="jump-label")
            label.absolute_offset = target.at
            yield label

    def on_key(self, event: Key) -> None:
        """Go there, or nowhere."""
        event.stop()
        self.dismiss(self._targets.get(event.key))


def _jump(app: Deck, _frame: Frame) -> None:
    """Where everything stands is known once a scroll, or a screen just shown, has been painted."""
    app.call_after_refresh(lambda: app.push_screen(JumpScreen(app.screen), lambda target: target and target.go()))


HANDLERS: Mapping[str, Handler] = {"jump": _jump}
