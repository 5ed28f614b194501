"""A line that names keys: a click on a key, or on what it does, is the key."""

from __future__ import annotations

from textual.events import Click
from textual.message import Message

from widgets.cells import width_of
from widgets.layout import line_spans
from widgets.lines import Lines


class KeyLine(Lines):
    """Pieces in the ink `key` are keys, as the user knows them; the piece behind one tells what it does."""

    class Clicked(Message):
        """A key was clicked; `key` is as it stands in the line, without brackets."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def on_click(self, event: Click) -> None:
        """Find the key under the mouse."""
        if key := self.key_at(event.get_content_offset_capture(self).x):
            self.post_message(self.Clicked(key))

    def key_at(self, x: int) -> str:
        """The key at this cell of the line; empty where none is."""
        key, at, behind = "", 0, 0
        for line in self._shown[:1]:
            for text, ink in line_spans(line, self.size.width, self.glyphs):
                at += width_of(text)
                key, behind = (text.strip("[] "), 0) if ink == "key" else (key, behind + 1)
                if x < at:
                    return key if behind <= 1 else ""
        return ""
