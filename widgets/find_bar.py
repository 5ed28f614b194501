"""The line where a text to find or to filter by is typed."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from widgets.cells import Cell, Line
from widgets.lines import Lines


class FindBar(Horizontal):
    """Hidden until `open`. Posts `Changed` at every key, `Closed` at escape (with no text) or enter."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close(True)", "close", show=False)]

    class Changed(Message):
        """The text as typed so far."""

        def __init__(self, mode: str, text: str) -> None:
            super().__init__()
            self.mode = mode
            self.text = text

    class Closed(Changed):
        """The bar went away; the text stays in force, it is empty after escape."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.mode = ""
        self.display = False

    def compose(self) -> ComposeResult:
        yield Lines(id="find-label")
        yield Input(id="find-input", compact=True)

    def open(self, mode: str, text: str = "") -> None:
        """Show the bar for a mode, such as `find` or `filter`."""
        self.mode = mode
        self.query_one(Lines).set_lines([Line((Cell(f" {mode} ", "key"),))])
        self.display = True
        field = self.query_one(Input)
        field.value = text
        field.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.display:
            self.post_message(self.Changed(self.mode, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_close(False)

    def action_close(self, forget: bool) -> None:
        """Hide the bar; `forget` takes the text back."""
        self.display = False
        self.post_message(self.Closed(self.mode, "" if forget else self.query_one(Input).value))
