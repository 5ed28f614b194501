"""A titled frame around one subject, which knows the age of what it shows."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from widgets.glyphs import ASCII, ASCII_CLASS, UNICODE


class Pane(Vertical):
    """Title, a note beside it, keys at the bottom edge; `set_stale` dims the contents and shows the age."""

    ALLOW_MAXIMIZE = True  # zoom takes the frame along, whatever inside it has the focus

    def __init__(
        self,
        title: str,
        *children: Widget,
        keys: str = "",
        focusable: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(*children, id=id, classes=classes)
        self.can_focus = focusable
        self._title = title
        self._note = ""
        self._stale = ""
        self._keys = keys

    def on_mount(self) -> None:
        self._write()

    def set_title(self, title: str, note: str = "") -> None:
        """Change the title and the note beside it."""
        if (title, note) != (self._title, self._note):
            self._title, self._note = title, note
            self._write()

    def set_keys(self, keys: str) -> None:
        """Change the keys named at the bottom edge, such as `[r] check again`."""
        if keys != self._keys:
            self._keys = keys
            self._write()

    def set_stale(self, text: str) -> None:
        """`stale 14 s` dims the contents and stands in the title; an empty text is fresh."""
        if text != self._stale:
            self._stale = text
            self.set_class(bool(text), "-stale")
            self._write()

    def _write(self) -> None:
        if not self.is_attached:
            return
        glyphs = ASCII if self.app.has_class(ASCII_CLASS) else UNICODE
        parts = [(glyphs.text(self._title), "bold")]
        if self._stale:  # before the note: a narrow title is cut at its end
            parts.append((f"  {glyphs.of('stale')} {glyphs.text(self._stale)}", "bold $warn"))
        if self._note:
            parts.append((f"  {glyphs.text(self._note)}", "$dim"))
        self.border_title = Content.assemble(*parts)
        self.border_subtitle = Content.assemble((glyphs.text(self._keys), "$dim"))
