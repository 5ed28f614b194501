"""The log pane's view: a ring of lines given in batches, follow as a state, find and filter apart."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click, Resize
from textual.geometry import Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from widgets.cells import Span, cut_spans
from widgets.layout import overlay
from widgets.log_lines import RING, LogLine, LogRing, line_spans, line_text, matcher, nothing_holds, shift
from widgets.painted import Painted

SIDE_STEP = 8


class LogView(Painted, can_focus=True):
    """Shows the end of a log while it follows; scrolling up leaves following, the end takes it up again.

    `extend(lines)` once a frame. Away from the end a pill counts the lines that came. Mouse selection copies
    the text as it is, also when the ring has moved on.
    """

    ALLOW_SELECT = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "line(-1)", "up", show=False),
        Binding("down,j", "line(1)", "down", show=False),
        Binding("left,h", "side(-1)", "left", show=False),
        Binding("right,l", "side(1)", "right", show=False),
        Binding("pageup", "page(-1)", "page up", show=False),
        Binding("pagedown", "page(1)", "page down", show=False),
        Binding("home,g", "top", "oldest", show=False),
        Binding("end,G", "follow", "follow", show=False),
        Binding("n", "match(1)", "next match", show=False),
        Binding("p", "match(-1)", "previous match", show=False),
    ]

    class FollowChanged(Message):
        """Following began or ended."""

        def __init__(self, view: LogView, follow: bool) -> None:
            super().__init__()
            self.view = view
            self.follow = follow

    class OlderWanted(Message):
        """The user stands at the oldest line: `extend_back` may bring what lies before it in the file."""

        def __init__(self, view: LogView) -> None:
            super().__init__()
            self.view = view

    def __init__(
        self, *, capacity: int = RING, empty: str = "", id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._empty = empty
        self.follow = True
        self.new_lines = 0
        self._ring = LogRing(capacity)
        self._find = ""
        self._here = -1
        self._left = 0
        self._placing = False

    # --- contents

    def extend(self, lines: Iterable[LogLine]) -> None:
        """Add a batch of lines."""
        came, left = self._ring.extend(lines)
        if not self.follow:
            self.new_lines += came
        self._place(-left)

    def extend_back(self, lines: Sequence[LogLine]) -> None:
        """Put older lines before the first; the text in view stays in place, following forgets them."""
        self._place(self._ring.extend_back(lines))

    def clear(self) -> None:
        """Forget all lines, and follow."""
        self._ring.clear()
        self.new_lines = 0
        self._left = 0
        self._set_follow(True)
        self._place()

    def set_filter(self, text: str) -> int:
        """Show only lines that contain the text (empty: all); how many are shown."""
        self._ring.filter(text)
        self._set_follow(True)
        self._place()
        return len(self._ring.shown)

    @property
    def shown(self) -> int:
        """How many lines pass the filter."""
        return len(self._ring.shown)

    def find(self, text: str) -> int:
        """Mark the text everywhere and go to its newest place; how many lines hold it. Empty: no marks."""
        self._find, self._here = text, -1
        numbers = self._ring.matching(text)
        if numbers:
            self._go_to(numbers[-1])
        self.refresh()
        return len(numbers)

    def text(self) -> str:
        """All shown lines, for a copy or a file."""
        return self._ring.text_between(None, None)

    def found_text(self) -> str:
        """The line that was found last, empty when none was."""
        return line_text(self._ring[self._here]) if self._find and self._here >= 0 else ""

    # --- place

    def _place(self, moved: int = 0) -> None:
        """After a change: keep the end in view while following, else keep the same text in place."""
        if not self.is_attached:
            return
        self._placing = True
        size = Size(0, len(self._ring.shown))
        if size != self.virtual_size:
            self.virtual_size = size
        if self.follow:
            self.jump(self.max_scroll_y)
        elif moved:
            self.jump(self.scroll_offset.y + moved)
        self._placing = False
        self.refresh()

    def on_mount(self) -> None:
        self._place()

    def on_resize(self, _: Resize) -> None:
        self._place()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Scrolling by the user decides about following."""
        super().watch_scroll_y(old_value, new_value)
        if not self._placing and round(old_value) != round(new_value):
            self._set_follow(round(new_value) >= self.max_scroll_y)
            if round(new_value) <= 0 and not self.follow:
                self.post_message(self.OlderWanted(self))

    def _set_follow(self, follow: bool) -> None:
        if follow:
            self.new_lines = 0
            self._ring.forget_older()
        if follow != self.follow:
            self.follow = follow
            self.post_message(self.FollowChanged(self, follow))

    def _go_to(self, number: int) -> None:
        """Scroll so that the line stands in the middle."""
        self._here = number
        at = bisect_left(self._ring.shown, number)
        self.jump(at - self.size.height // 2)
        self.refresh()

    # --- painting

    def render_line(self, y: int) -> Strip:
        """One painted line, the pill over the last one."""
        width = self.scrollable_content_region.width
        at = self.scroll_offset.y + y
        shown = self._ring.shown
        pill = self._pill() if y == self.scrollable_content_region.height - 1 else ""
        spans: list[Span] = []
        number = shown[at] if at < len(shown) else None
        if not shown and y == 0:
            spans = [Span(nothing_holds(self._ring.wanted) if self._ring.wanted else self._empty, "dim")]
        if number is not None:
            spans = cut_spans(self._line(number), width - len(pill), self.glyphs.ellipsis)
        strip = self.strip(spans, width - len(pill))
        if number is not None:
            strip = strip.apply_offsets(self._left, number)
        return Strip.join([strip, self.strip([Span(pill, "pill")], len(pill))]) if pill else strip

    def _line(self, number: int) -> list[Span]:
        line = self._ring[number]
        spans = line_spans(line)
        if self._find:
            ink = "match-here" if number == self._here else "match"
            for start, end in matcher(self._find)(line_text(line)):
                spans = overlay(spans, start, end, ink)
        selection = self.text_selection
        if selection is not None and (span := selection.get_span(number)) is not None:
            spans = overlay(spans, *span, "selection")
        glyphs = self.glyphs
        spans = [Span(glyphs.text(text), ink) for text, ink in spans]
        return shift(spans, self._left, glyphs.ellipsis)

    def _pill(self) -> str:
        if self.follow or not self.new_lines:
            return ""
        return f" +{self.new_lines} new {self.glyphs.down} "

    # --- selection

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, for Textual's copy."""
        start = (selection.start.y, selection.start.x) if selection.start else None
        end = (selection.end.y, selection.end.x) if selection.end else None
        return self._ring.text_between(start, end), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Textual calls this when the selection changed."""
        self.refresh()

    # --- keys and mouse

    def on_click(self, event: Click) -> None:
        """A click on the pill follows again."""
        pill = self._pill()
        if pill and event.y == self.scrollable_content_region.height - 1 and event.x >= self.size.width - len(pill):
            self.action_follow()

    def action_follow(self) -> None:
        """To the newest line, and stay there."""
        self._set_follow(True)
        self._place()

    def action_line(self, step: int) -> None:
        """One line up or down."""
        self.jump(self.scroll_offset.y + step)

    def action_page(self, step: int) -> None:
        """One page up or down."""
        self.jump(self.scroll_offset.y + step * max(1, self.size.height - 1))

    def action_top(self) -> None:
        """To the oldest line kept."""
        self.jump(0)

    def action_side(self, step: int) -> None:
        """Shift the text sideways."""
        self._left = max(0, self._left + step * SIDE_STEP)
        self.refresh()

    def action_match(self, step: int) -> None:
        """To the next or the previous line that holds the text sought."""
        numbers = self._ring.matching(self._find)
        if not numbers:
            return
        if self._here < 0:
            at = len(numbers) - 1
        else:
            at = bisect_left(numbers, self._here)
            at = at + step if step < 0 or (at < len(numbers) and numbers[at] == self._here) else at
        self._go_to(numbers[at % len(numbers)])
