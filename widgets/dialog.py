"""Dialogs: what will be done is shown as data, and the answer that changes nothing is the default."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widget import Widget
from textual.widgets import Button, Input, TextArea

from widgets.cells import Cell, Line
from widgets.lines import Lines
from widgets.pane import Pane

T = TypeVar("T")


class Dialog(ModalScreen[T], Generic[T]):
    """A frame with lines, an optional input and buttons. Subclasses say what the buttons answer."""

    AUTO_FOCUS = "#no"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "refuse", "no", show=False),
        Binding("left,up", "app.focus_previous", show=False),
        Binding("right,down", "app.focus_next", show=False),
    ]

    def __init__(self, title: str, lines: Sequence[Line], *, no: str, yes: str, classes: str = "") -> None:
        super().__init__(classes=f"dialog {classes}".strip())
        self._title = title
        self._lines = lines
        self._no = no
        self._yes = yes

    def compose(self) -> ComposeResult:
        body = Lines(wrap=True, id="dialog-lines")
        body.set_lines(self._lines)
        buttons = [Button(Content(label), id=id) for label, id in ((self._no, "no"), (self._yes, "yes")) if label]
        yield Pane(self._title, body, *self.extra(), Horizontal(*buttons, id="dialog-buttons"), id="dialog")

    def extra(self) -> Sequence[Widget]:
        """Widgets between the lines and the buttons."""
        return ()

    @on(Button.Pressed, "#no")
    def action_refuse(self) -> None:
        """Close without changing anything."""
        self.dismiss(None)

    @on(Button.Pressed, "#yes")
    def _yes_pressed(self) -> None:
        self.accept()

    def accept(self) -> None:
        """Close with the answer."""
        raise NotImplementedError


class ConfirmDialog(Dialog[bool]):
    """Shows what will be done, where, and the command that does the same; True only by the second button.

    `rows` are (name, text) pairs, such as ("stops", "pid 41822, sglang 0.5.23").
    """

    def __init__(
        self, title: str, rows: Sequence[tuple[str, str]], *, yes: str, no: str = "No", twin: str = ""
    ) -> None:
        lines = data_lines(rows)
        if twin:
            lines += [Line(), Line((Cell("same as  ", "dim"), Cell(twin, "key")), indent=9)]
        super().__init__(title, lines, no=no, yes=yes)

    def accept(self) -> None:
        """Done as shown."""
        self.dismiss(True)


class NoticeDialog(Dialog[bool]):
    """Says something that a person must know and cannot change here. `level` is the ink of the title."""

    def __init__(self, title: str, rows: Sequence[tuple[str, str]], *, level: str = "warn") -> None:
        super().__init__(title, data_lines(rows), no="Close", yes="", classes=f"-{level}")

    def accept(self) -> None:
        """There is nothing to accept."""
        self.dismiss(None)


class HostKeyDialog(Dialog[bool]):
    """Asks about a host key seen for the first time; the default is not to connect."""

    def __init__(self, host: str, algorithm: str, fingerprint: str, via: Sequence[str] = ()) -> None:
        rows = [("host", host), *([("via", " → ".join(via))] if via else []), ("algorithm", algorithm)]
        lines = [
            Line((Cell("This host key has not been seen before."),)),
            Line(),
            *data_lines([*rows, ("fingerprint", fingerprint)]),
            Line(),
            Line(
                (
                    Cell("Compare it with what the box itself says: ", "dim"),
                    Cell("ssh-keygen -lf /etc/ssh/ssh_host_*.pub", "dim"),
                )
            ),
        ]
        super().__init__("Unknown host key", lines, no="Do not connect", yes="Trust and connect")

    def accept(self) -> None:
        """The key is trusted."""
        self.dismiss(True)


class ReadingDialog(Dialog[T], Generic[T]):
    """Asks for text, and answers with what it means; None when it was closed.

    What `reads` refuses with a ValueError stays to be corrected, with the sentence below it.
    """

    def __init__(self, title: str, rows: Sequence[tuple[str, str]], reads: Callable[[str], T], *, yes: str) -> None:
        super().__init__(title, data_lines(rows), no="Cancel", yes=yes)
        self._reads = reads

    def read(self, text: str) -> None:
        """Close with what the text means, or say what is wrong with it."""
        try:
            meant = self._reads(text)
        except ValueError as error:
            self.query_one("#dialog-refused", Lines).set_lines([Line((Cell(str(error), "warn"),))])
            self.query_one("#dialog-input, #dialog-text").focus()
        else:
            self.dismiss(meant)


class AskDialog(ReadingDialog[T], Generic[T]):
    """Asks for one line of text; `secret=True` shows no character of it."""

    AUTO_FOCUS = "#dialog-input"

    def __init__(
        self,
        title: str,
        rows: Sequence[tuple[str, str]],
        reads: Callable[[str], T],
        *,
        yes: str = "OK",
        value: str = "",
        placeholder: str = "",
        secret: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        super().__init__(title, rows, reads, yes=yes)
        self._value = value
        self._placeholder = placeholder
        self._secret = secret
        self._suggests = SuggestFromList(names, case_sensitive=False) if names else None

    def extra(self) -> Sequence[Widget]:
        """The input; → completes to the first of the names that begins so."""
        asked = Input(
            self._value, self._placeholder, password=self._secret, suggester=self._suggests, id="dialog-input"
        )
        return (asked, Lines(wrap=True, id="dialog-refused"))

    @on(Input.Submitted)
    def _submitted(self) -> None:
        self.accept()

    def accept(self) -> None:
        """Read the text, when there is one."""
        if text := self.query_one(Input).value.strip():
            self.read(text)


class EditDialog(ReadingDialog[T], Generic[T]):
    """Asks for some lines of text, beginning with `text`."""

    AUTO_FOCUS = "#dialog-text"

    def __init__(
        self, title: str, rows: Sequence[tuple[str, str]], reads: Callable[[str], T], text: str, *, yes: str = "OK"
    ) -> None:
        super().__init__(title, rows, reads, yes=yes)
        self._text = text

    def extra(self) -> Sequence[Widget]:
        """The text; tab leads to the buttons."""
        return (TextArea(self._text, tab_behavior="focus", id="dialog-text"), Lines(wrap=True, id="dialog-refused"))

    def accept(self) -> None:
        """Read the text."""
        self.read(self.query_one(TextArea).text)


def data_lines(rows: Sequence[tuple[str, str]]) -> list[Line]:
    """Names in one column, texts in the next."""
    width = max((len(name) for name, _ in rows), default=0)
    return [Line((Cell(f"{name:<{width}}  ", "dim"), Cell(text)), indent=width + 2) for name, text in rows]
