"""Widgets that keep what they rendered until something of them changed."""

from __future__ import annotations

from textual.containers import ItemGrid, Vertical
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class Kept(Widget):
    """Textual asks every widget on the screen for its lines whenever one line of one of them changed, and resolves
    backgrounds and titles anew each time: at eight GPUs and one sample a second, a tenth of all that a console costs.
    """

    _kept: tuple[Region, list[Strip]] | None = None

    def render_lines(self, crop: Region) -> list[Strip]:
        """The lines of this part: those of the last time, as long as nothing asked for a repaint."""
        if self._kept is None or self._kept[0] != crop:
            self._kept = crop, super().render_lines(crop)
        return self._kept[1]

    def _set_dirty(self, *regions: Region) -> None:
        """Where all of Textual's ways to ask for a repaint meet."""
        self._kept = None
        super()._set_dirty(*regions)


class Stack(Kept, Vertical):
    """Widgets below each other."""


class Tiles(Kept, ItemGrid):
    """Widgets in a grid."""
