"""A titled frame around one subject, which knows the age of what it shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import ClassVar, NamedTuple, Self

from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.widget import Widget

from widgets.glyphs import ASCII, ASCII_CLASS, UNICODE, Glyphs
from widgets.kept import Kept


class Hint(NamedTuple):
    """A key at the edge of a pane, what it does, and Textual's action of a click on it."""

    key: str
    does: str
    action: str = ""


def inner_focus(pane: Pane) -> Widget:
    """The pane, or what inside it takes the keys."""
    inside = next((widget for widget in pane.query("*") if widget.focusable), None)
    return pane if pane.focusable or inside is None else inside


class Pane(Kept, Vertical):
    """Title, a note beside it, a text or keys at the bottom edge; `set_stale` dims the contents and
    shows the age. `title_action` is Textual's action of a click on the title."""

    title_action: ClassVar[str] = ""
    ALLOW_MAXIMIZE = True  # zoom takes the frame along, whatever inside it has the focus

    def __init__(
        self,
        title: str,
        *children: Widget,
        focusable: bool = False,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(*children, id=id, classes=classes)
        self.can_focus = focusable
        self._title = title
        self._note = ""
        self._stale = ""
        self._foot: str | tuple[Hint, ...] = ""
        self._edge: tuple[Region, ...] = ()

    def on_mount(self) -> None:
        self._write_title()
        self._write_foot()

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Textual repaints all of a widget whose border title changes: here it is the edge with the title alone."""
        return super().refresh(*(regions or self._edge), repaint=repaint, layout=layout, recompose=recompose)

    def set_title(self, title: str, note: str = "") -> None:
        """Change the title and the note beside it."""
        if (title, note) != (self._title, self._note):
            self._title, self._note = title, note
            self._write_title()

    def set_foot(self, foot: str | Sequence[Hint]) -> None:
        """Change what stands at the bottom edge: a text, or keys that can be clicked."""
        foot = foot if isinstance(foot, str) else tuple(foot)
        if foot != self._foot:
            self._foot = foot
            self._write_foot()

    def set_stale(self, text: str) -> None:
        """`stale 14 s` dims the contents and stands in the title; an empty text is fresh."""
        if text != self._stale:
            self._stale = text
            self.set_class(bool(text), "-stale")
            self._write_title()

    def _write_title(self) -> None:
        glyphs = self._glyphs
        click = f" @click={self.title_action}" if self.title_action else ""
        parts = [(glyphs.text(self._title), f"bold{click}")]
        if self._stale:  # before the note: a narrow title is cut at its end
            parts.append((f"  {glyphs.of('stale')} {glyphs.text(self._stale)}", "bold $warn"))
        if self._note:
            parts.append((f"  {glyphs.text(self._note)}", "$dim"))
        with self._at_line(0):
            self.border_title = Content.assemble(*parts)

    def _write_foot(self) -> None:
        hints = () if isinstance(self._foot, str) else self._foot
        parts = [(self._foot, "$dim")] if isinstance(self._foot, str) else []
        for at, (key, does, action) in enumerate(hints):
            click = f" @click={action}" if action else ""
            parts += [("  " * bool(at), "$dim"), (key, f"$key{click}"), (f" {does}", f"$dim{click}")]
        with self._at_line(self.outer_size.height - 1):
            self.border_subtitle = Content.assemble(*((self._glyphs.text(text), style) for text, style in parts))

    @property
    def _glyphs(self) -> Glyphs:
        return ASCII if self.is_attached and self.app.has_class(ASCII_CLASS) else UNICODE

    @contextmanager
    def _at_line(self, y: int) -> Iterator[None]:
        """What asks for a repaint of the pane means this line of it; regions count from the content."""
        self._edge = (Region(0, y, self.outer_size.width, 1).translate(-self.content_offset),)
        yield
        self._edge = ()
