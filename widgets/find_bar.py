"""The line where a text to find or to filter by is typed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input

from widgets.cells import Cell, Line
from widgets.lines import Lines


class FindBar(Horizontal):
    """Hidden until `open`. Posts `Changed` at every key, `Closed` at escape (with no text) or enter.

    A text that stays in force stays in sight, in the words of `tell`, and comes back to be corrected.
    """

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
        self.texts: dict[str, str] = {}
        self.display = False

    def compose(self) -> ComposeResult:
        yield Lines(id="find-label")
        yield Input(id="find-input", compact=True)

    @property
    def typing(self) -> bool:
        """Whether a text is being typed."""
        return self.display and self.query_one(Input).display

    def open(self, mode: str) -> None:
        """Show the bar for a mode, such as `find` or `filter`, with the text that is in force."""
        self.mode = mode
        self.query_one(Lines).set_lines([Line((Cell(f" {mode} ", "key"),))])
        field = self.query_one(Input)
        with self.prevent(Input.Changed):
            field.value = self.texts.get(mode, "")
        self.display = field.display = True
        self.set_class(False, "-told")
        field.focus()

    def tell(self, texts: Sequence[str]) -> None:
        """What to say while nothing is typed; without texts the bar goes away."""
        if not self.typing:
            self.display = bool(texts)
            self.set_class(True, "-told")
            self.query_one(Lines).set_lines([Line((Cell("  ".join(["", *texts]), "label"),))])

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        if self.typing:
            self.post_message(self.Changed(self.mode, event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_close(False)

    def action_close(self, forget: bool) -> None:
        """Hide the bar; `forget` takes the text back."""
        field = self.query_one(Input)
        self.texts[self.mode] = text = "" if forget else field.value
        field.display = False
        self.display = False
        self.post_message(self.Closed(self.mode, text))
