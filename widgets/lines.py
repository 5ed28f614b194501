"""Free lines: facts, sentences, forms. The base of the header, the NEXT line, gate lists and phase bars."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Resize
from textual.geometry import Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from widgets.cells import Cell, Line
from widgets.layout import line_spans, overlay, wrap_line
from widgets.painted import Painted


class Lines(Painted):
    """Paints lines; `wrap=True` breaks long ones at spaces, else they are cut with the ellipsis.

    So is what a `max-height` in cells leaves no room for.
    """

    ALLOW_SELECT = True
    DEFAULT_CSS = "Lines { height: auto; }"
    can_focus = False

    def __init__(self, *, wrap: bool = False, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.wrap = wrap
        self._given: tuple[Line, ...] = ()
        self._shown: list[Line] = []

    def set_lines(self, lines: Sequence[Line]) -> None:
        """Show these lines; only those that changed are painted."""
        given = tuple(lines)
        if given != self._given:
            self._given = given
            self.reflow()

    def lines_for(self, width: int) -> list[Line]:
        """The lines as they are shown in `width` cells."""
        if not self.wrap or width <= 0:
            return list(self._given)
        lines = [part for line in self._given for part in wrap_line(line, width, self.glyphs)]
        limit = self.styles.max_height
        most = int(limit.value) - self.gutter.height if limit is not None and limit.is_cells else len(lines)
        if 0 < most < len(lines):
            last = lines[most - 1]
            lines[most - 1 :] = [Line((*last.left, Cell(f" {self.glyphs.ellipsis}", "dim")), last.right)]
        return lines

    def reflow(self) -> None:
        """Lay the lines out again, for other contents or another width."""
        if not self.is_attached:
            return
        old, self._shown = self._shown, self.lines_for(self.scrollable_content_region.width)
        self.set_line_count(len(self._shown))
        self.refresh_changed(old, self._shown)

    def on_mount(self) -> None:
        self.reflow()

    def on_resize(self, _: Resize) -> None:
        self.reflow()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Height for `height: auto`: as many lines as `width` cells need."""
        return max(1, len(self.lines_for(width)))

    def render_line(self, y: int) -> Strip:
        """One painted line."""
        index = y + self.scroll_offset.y
        width = self.size.width
        if index >= len(self._shown):
            return Strip.blank(width, self.ink(""))
        line = self._shown[index]
        if self._last_in_sight(y):
            line = Line((*line.left, Cell(f" {self.glyphs.ellipsis}", "dim")), line.right)
        spans = line_spans(line, width, self.glyphs)
        if self.text_selection and (span := self.text_selection.get_span(index)):
            spans = overlay(spans, *span, "selection")
        return self.strip(spans, width).apply_offsets(0, index)

    def _last_in_sight(self, y: int) -> bool:
        """Whether the frame around ends at this line, and something behind it has no room."""
        around = self.parent
        if not isinstance(around, Widget) or around.show_vertical_scrollbar:
            return False
        bottom = around.content_region.bottom
        if self.content_region.y + y + 1 != bottom:
            return False
        behind = around.children[around.children.index(self) + 1 :]
        hidden = any(one.display and one.region and one.region.y >= bottom for one in behind)
        return hidden or y + self.scroll_offset.y + 1 < len(self._shown)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text as it is shown, for Textual's copy."""
        width = self.size.width
        lines = ("".join(span.text for span in line_spans(line, width, self.glyphs)).rstrip() for line in self._shown)
        return selection.extract("\n".join(lines)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Textual calls this when the selection changed."""
        self.refresh()
