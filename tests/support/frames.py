"""The screen as text, for tests: one place that knows how Textual keeps it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from textual.app import App

from widgets.glyphs import ASCII_CLASS
from widgets.themes import DARK, register_themes

TCSS = Path(__file__).parents[2] / "console.tcss"


def frame(app: App[Any]) -> str:
    """The screen as lines, without the spaces at their ends."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


class StyledApp(App[None]):
    """A small app with our looks; subclasses compose the widgets under test."""

    CSS_PATH = TCSS

    def __init__(self, theme: str = DARK, ascii: bool = False, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        register_themes(self)
        self.theme = theme
        self.set_class(ascii, ASCII_CLASS)
