"""The table of the console: line API, columns dropped by priority, optional cursor, optional side-by-side blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message

from widgets.cells import Row
from widgets.layout import Column, row_text
from widgets.log_lines import matcher, nothing_holds
from widgets.table_body import TableBody


class LineTable(TableBody, can_focus=True):
    """Rows of pieces. `set_rows(rows)` refreshes only the lines that changed.

    `cursor=True` gives a row cursor that follows the row's key; moving it posts `Moved`, enter and a second
    click post `Chosen`. `fold=True` puts the rows into side-by-side blocks when the height is short.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "up", show=False),
        Binding("down,j", "move(1)", "down", show=False),
        Binding("left,h", "side(-1)", "left", show=False),
        Binding("right,l", "side(1)", "right", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,g", "end(-1)", "first", show=False),
        Binding("end,G", "end(1)", "last", show=False),
        Binding("n", "match(1)", "next match", show=False),
        Binding("p", "match(-1)", "previous match", show=False),
        Binding("enter", "choose", "choose", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row."""

        def __init__(self, table: LineTable, key: str) -> None:
            super().__init__()
            self.table = table
            self.key = key

        @property
        def control(self) -> LineTable:
            """The table, for `@on(..., "#id")`."""
            return self.table

    class Chosen(Moved):
        """Enter was pressed, or the row under the cursor clicked."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        cursor: bool = False,
        header: bool = True,
        fold: bool = False,
        empty: str = "nothing to show",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(columns, header=header, fold=fold, empty=empty, id=id, classes=classes)
        self.can_focus = cursor
        self.cursor = cursor
        self._given: tuple[Row, ...] = ()
        self._filter = ""
        self._found = ""
        self._index = 0

    @property
    def cursor_key(self) -> str:
        """The key of the row under the cursor; empty without a cursor or rows."""
        return self._rows[self._index].key if self.cursor and self._rows else ""

    @property
    def cursor_text(self) -> str:
        """The row under the cursor as one line of text, for a copy."""
        if not self.cursor or not self._rows:
            return ""
        return row_text(self._rows[self._index])

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; the cursor stays with its key, else near its place."""
        given = tuple(rows)
        if given != self._given:
            self._given = given
            self._show()

    def set_filter(self, text: str) -> int:
        """Show only rows that contain the text (empty: all); how many are shown."""
        if text != self._filter:
            self._filter = text
            self._show()
            self.refresh()
        return len(self._rows)

    def find(self, text: str) -> int:
        """Put the cursor on the next row that contains the text; how many rows do."""
        self._found = text
        matching = self._matching()
        if matching and self._index not in matching:
            self._go(next((index for index in matching if index > self._index), matching[0]))
        return len(matching)

    @property
    def shown(self) -> int:
        """How many rows pass the filter."""
        return len(self._rows)

    def _empty_text(self) -> str:
        """A filter that leaves nothing is no lack of rows."""
        return nothing_holds(self._filter) if self._given else super()._empty_text()

    def _matching(self) -> list[int]:
        holds = matcher(self._found)
        return [index for index, row in enumerate(self._rows) if self._found and holds(row_text(row))]

    def _show(self) -> None:
        """Take over the given rows that pass the filter."""
        holds = matcher(self._filter)
        rows = tuple(row for row in self._given if not self._filter or holds(row_text(row)))
        key = self.cursor_key
        near = min(self._index, max(0, len(rows) - 1))
        self._index = next((index for index, row in enumerate(rows) if key and row.key == key), near)
        self._replace(rows)
        if self.cursor_key != key:
            self.post_message(self.Moved(self, self.cursor_key))

    def select(self, key: str) -> None:
        """Put the cursor on the row with this key, when there is one."""
        index = next((i for i, row in enumerate(self._rows) if row.key == key), None)
        if index is not None:
            self._go(index)

    def places(self) -> list[tuple[int, str]]:
        """(line of the content, key) of every row in sight; of rows side by side the first."""
        height = self.scrollable_content_region.height - int(self.header)
        top = self.scroll_offset.y
        lines = list(enumerate(self._line_rows()))[top : top + max(0, height)]
        return [(line - top + int(self.header), rows[0].key) for line, rows in lines if rows[0].key]

    # --- cursor

    def _under(self, row: Row, index: int) -> str:
        if not self.cursor or index != self._index:
            return row.ink
        return "cursor" if self.has_focus else "cursor-blurred"

    def on_focus(self) -> None:
        self._refresh_row(self._index)

    def on_blur(self) -> None:
        self._refresh_row(self._index)

    def _refresh_row(self, index: int) -> None:
        self.refresh_line(index // self._blocks + int(self.header))

    def _go(self, index: int) -> None:
        index = max(0, min(index, len(self._rows) - 1))
        if not self._rows or index == self._index:
            return
        self._refresh_row(self._index)
        self._index = index
        self._refresh_row(index)
        self._scroll_into_view(index // self._blocks)
        self.post_message(self.Moved(self, self.cursor_key))

    def _scroll_into_view(self, line: int) -> None:
        height = self.scrollable_content_region.height - int(self.header)
        top = self.scroll_offset.y
        if line < top:
            self.jump(line)
        elif line >= top + height:
            self.jump(line - height + 1)

    def on_click(self, event: Click) -> None:
        """Put the cursor where the mouse clicked; a click on the cursor chooses."""
        line = event.y - int(self.header)
        if not self.cursor or line < 0:
            return
        block = event.x * self._blocks // max(1, self.size.width)
        index = (line + self.scroll_offset.y) * self._blocks + block
        if index < len(self._rows):
            if index == self._index and event.chain > 1:
                self.action_choose()
            self._go(index)

    def action_move(self, step: int) -> None:
        """Up or down a line."""
        self._go(self._index + step * self._blocks)

    def action_side(self, step: int) -> None:
        """To the neighbouring block."""
        if self._blocks > 1:
            self._go(self._index + step)

    def action_page(self, step: int) -> None:
        """Up or down a page."""
        self._go(self._index + step * self._blocks * max(1, self.scrollable_content_region.height - 2))

    def action_end(self, step: int) -> None:
        """To the first or the last row."""
        self._go(0 if step < 0 else len(self._rows) - 1)

    def action_match(self, step: int) -> None:
        """To the next or the previous row that contains the text sought."""
        matching = self._matching()
        ahead = [index for index in matching if (index - self._index) * step > 0]
        if matching:
            self._go((ahead or matching)[0 if step > 0 else -1])

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self.cursor and self._rows:
            self.post_message(self.Chosen(self, self.cursor_key))
