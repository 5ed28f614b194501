"""The screen as text, for tests: one place that knows how Textual keeps it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from textual.app import App
from textual.pilot import Pilot

from tests.support.patience import PATIENCE_S
from widgets.glyphs import ASCII_CLASS
from widgets.themes import DARK, register_themes

TCSS = Path(__file__).parents[2] / "console.tcss"


def frame(app: App[Any]) -> str:
    """The screen as lines, without the spaces at their ends."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


async def until_shown(app: App[Any], pilot: Pilot[Any], words: str) -> None:
    """Wait until the screen holds the words, however they are spaced."""
    deadline = time.monotonic() + PATIENCE_S
    while words not in " ".join(frame(app).split()):
        assert time.monotonic() < deadline, f"never seen: {words}\n{frame(app)}"
        await pilot.pause(0.05)


def check_frame(path: Path, shown: str) -> None:
    """Compare a frame with the one kept at `path`; GPUDECK_KEEP_FRAMES=1 keeps the new one, to be looked at."""
    if os.environ.get("GPUDECK_KEEP_FRAMES"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(shown.rstrip() + "\n")
    assert shown.rstrip().splitlines() == path.read_text().splitlines()


class StyledApp(App[None]):
    """A small app with our looks; subclasses compose the widgets under test."""

    CSS_PATH = TCSS

    def __init__(self, theme: str = DARK, ascii: bool = False, ansi_color: bool | None = None) -> None:
        super().__init__(ansi_color=ansi_color)
        register_themes(self)
        self.theme = theme
        self.set_class(ascii, ASCII_CLASS)
