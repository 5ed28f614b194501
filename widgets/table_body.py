"""The body of a table: rows in columns, side-by-side blocks when the height is short. Painting alone."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Resize
from textual.geometry import Size
from textual.strip import Strip

from widgets.cells import Row, Span, fit
from widgets.layout import Column, Placed, place_columns, row_spans
from widgets.painted import Painted

BLOCK_GAP = 3


class TableBody(Painted):
    """Paints rows; only the lines that changed are refreshed."""

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        header: bool = True,
        fold: bool = False,
        empty: str = "nothing to show",
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self.columns = tuple(columns)
        self.header = header
        self.fold = fold
        self.empty = empty
        self._rows: tuple[Row, ...] = ()
        self._blocks = 1
        self._placed: list[Placed] = []

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that are shown."""
        return self._rows

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

    def _empty_text(self) -> str:
        """What stands there while there are no rows."""
        return self.empty

    def _replace(self, rows: tuple[Row, ...]) -> None:
        """Show other rows."""
        old_lines, blocks = self._line_rows(), self._blocks
        self._rows = rows
        self._arrange()
        if blocks != self._blocks or not old_lines or not rows:
            self.refresh()
        else:
            self.refresh_changed(old_lines, self._line_rows(), int(self.header))

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
        size = Size(0, lines + int(self.header))
        if size != self.virtual_size:
            self.virtual_size = size
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Height for `height: auto`: a line for each row; given less, a table that folds makes do with it."""
        return max(1, len(self._rows)) + int(self.header)

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
            note = self._empty_text() if not self._rows and line == 0 else ""
            return self.strip([Span(fit(self.glyphs.text(note), width, ellipsis=self.glyphs.ellipsis), "dim")], width)
        strips = [self._row_strip(row, line * self._blocks + at, width) for at, row in enumerate(rows)]
        return strips[0] if self._blocks == 1 else Strip.join(self._between(strips, width))

    def _header_strip(self, width: int) -> Strip:
        glyphs = self.glyphs
        titles = ((self.columns[index], size) for index, size in self._placed)
        text = " ".join(fit(glyphs.text(column.title), size, column.align, glyphs.ellipsis) for column, size in titles)
        strip = self.strip([Span(text, "head")], self._block_width(width))
        return strip if self._blocks == 1 else Strip.join(self._between([strip] * self._blocks, width))

    def _row_strip(self, row: Row, index: int, width: int) -> Strip:
        spans = row_spans(row.cells, self.columns, self._placed, self.glyphs)
        return self.strip(spans, self._block_width(width), self._under(row, index))

    def _under(self, row: Row, index: int) -> str:
        """The ink under a row."""
        return row.ink

    def _block_width(self, width: int) -> int:
        return (width - BLOCK_GAP * (self._blocks - 1)) // self._blocks

    def _between(self, strips: Sequence[Strip], width: int) -> list[Strip]:
        gap = self.strip([Span(f" {self.glyphs.separator} ", "track")], BLOCK_GAP)
        joined: list[Strip] = []
        for strip in strips:
            joined += [gap, strip] if joined else [strip]
        spare = width - sum(strip.cell_length for strip in joined)
        return [*joined, Strip.blank(spare, self.ink(""))] if spare > 0 else joined
