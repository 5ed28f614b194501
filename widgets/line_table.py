"""The table of the console: line API, columns dropped by priority, optional cursor, optional side-by-side blocks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.message import Message
from textual.strip import Strip

from widgets.cells import Row, Span, fit
from widgets.layout import Column, Placed, place_columns, row_spans
from widgets.painted import Painted

BLOCK_GAP = 3


class LineTable(Painted, can_focus=True):
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
        super().__init__(id=id, classes=classes)
        self.can_focus = cursor
        self.columns = tuple(columns)
        self.cursor = cursor
        self.header = header
        self.fold = fold
        self.empty = empty
        self._rows: tuple[Row, ...] = ()
        self._index = 0
        self._blocks = 1
        self._placed: list[Placed] = []

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows as last set."""
        return self._rows

    @property
    def cursor_key(self) -> str:
        """The key of the row under the cursor; empty without a cursor or rows."""
        return self._rows[self._index].key if self.cursor and self._rows else ""

    @property
    def cursor_text(self) -> str:
        """The row under the cursor as one line of text, for a copy."""
        if not self.cursor or not self._rows:
            return ""
        texts = (getattr(cell, "text", getattr(cell, "word", "")) for cell in self._rows[self._index].cells)
        return "  ".join(text for text in texts if text)

    def set_columns(self, columns: Sequence[Column]) -> None:
        """Show other columns."""
        if tuple(columns) != self.columns:
            self.columns = tuple(columns)
            self._arrange()
            self.refresh()

    def set_empty(self, text: str) -> None:
        """Change what stands there while there are no rows."""
        if text != self.empty:
            self.empty = text
            self.refresh()

    def set_rows(self, rows: Sequence[Row]) -> None:
        """Show these rows; the cursor stays with its key, else near its place."""
        new = tuple(rows)
        if new == self._rows:
            return
        key, old_lines = self.cursor_key, self._line_rows()
        self._rows = new
        self._index = next(
            (i for i, row in enumerate(new) if key and row.key == key), min(self._index, max(0, len(new) - 1))
        )
        blocks = self._blocks
        self._arrange()
        if blocks != self._blocks or not old_lines or not new:
            self.refresh()
        else:
            self.refresh_changed(old_lines, self._line_rows(), int(self.header))
        if self.cursor_key != key:
            self.post_message(self.Moved(self, self.cursor_key))

    def select(self, key: str) -> None:
        """Put the cursor on the row with this key, when there is one."""
        index = next((i for i, row in enumerate(self._rows) if row.key == key), None)
        if index is not None:
            self._go(index)

    # --- layout

    def on_resize(self, _: Resize) -> None:
        self._arrange()
        self.refresh()

    def _arrange(self) -> None:
        """Decide the blocks and the columns for the size at hand."""
        width, height = self.scrollable_content_region.size
        if not width:
            return
        self._blocks = self._blocks_for(width, height - int(self.header))
        block = (width - BLOCK_GAP * (self._blocks - 1)) // self._blocks
        self._placed = place_columns(self.columns, block)
        lines = -(-len(self._rows) // self._blocks) or 1
        self.set_line_count(lines + int(self.header))

    def _blocks_for(self, width: int, lines: int) -> int:
        if not self.fold or lines <= 0 or len(self._rows) <= lines:
            return 1
        must = [column.width + 1 for column in self.columns if not column.priority]
        return max(1, min(-(-len(self._rows) // lines), (width + BLOCK_GAP) // (sum(must) - 1 + BLOCK_GAP)))

    def _line_rows(self) -> list[tuple[Row, ...]]:
        """The rows by painted line."""
        return [self._rows[at : at + self._blocks] for at in range(0, len(self._rows), self._blocks)]

    # --- painting

    def render_line(self, y: int) -> Strip:
        """One painted line; the header stays at the top."""
        width = self.scrollable_content_region.width
        if self.header and y == 0:
            return self._header_strip(width)
        line = y - int(self.header) + self.scroll_offset.y
        rows = self._rows[line * self._blocks : (line + 1) * self._blocks]
        if not rows:
            note = self.empty if not self._rows and line == 0 else ""
            return self.strip([Span(fit(self.glyphs.text(note), width), "dim")], width)
        strips = [self._row_strip(row, line * self._blocks + at, width) for at, row in enumerate(rows)]
        return strips[0] if self._blocks == 1 else Strip.join(self._between(strips, width))

    def _header_strip(self, width: int) -> Strip:
        spans: list[Span] = []
        for index, size in self._placed:
            column = self.columns[index]
            spans.append(
                Span(
                    " " * bool(spans) + fit(self.glyphs.text(column.title), size, column.align, self.glyphs.ellipsis),
                    "head",
                )
            )
        strip = self.strip(spans, self._block_width(width), "head")
        return strip if self._blocks == 1 else Strip.join(self._between([strip] * self._blocks, width))

    def _row_strip(self, row: Row, index: int, width: int) -> Strip:
        under = row.ink
        if self.cursor and index == self._index:
            under = "cursor" if self.has_focus else "cursor-blurred"
        return self.strip(
            row_spans(row.cells, self.columns, self._placed, self.glyphs), self._block_width(width), under
        )

    def _block_width(self, width: int) -> int:
        return (width - BLOCK_GAP * (self._blocks - 1)) // self._blocks

    def _between(self, strips: Sequence[Strip], width: int) -> list[Strip]:
        gap = self.strip([Span(f" {self.glyphs.separator} ", "track")], BLOCK_GAP)
        joined: list[Strip] = []
        for strip in strips:
            joined += [gap, strip] if joined else [strip]
        spare = width - sum(strip.cell_length for strip in joined)
        return [*joined, Strip.blank(spare, self.ink(""))] if spare > 0 else joined

    # --- cursor

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

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self.cursor and self._rows:
            self.post_message(self.Chosen(self, self.cursor_key))
