"""Keys as an expert types them: slowly, or all in one read of the terminal; and what the console is then."""

from __future__ import annotations

import re
from typing import Any

from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from console.app import ConsoleApp
from tests.support.frames import frame
from widgets.line_table import LineTable

SLOW_S = 0.05
CHARACTERS = {"enter": "\r", "tab": "\t", "space": " ", "escape": "\x1b", "backspace": "\x7f"}


def keys(text: str) -> list[Key | Paste]:
    """`N hi <enter>`: spaces only part the words, names stand in angle brackets, a pasted text in double quotes."""
    found = re.findall(r'<([^>]+)>|"([^"]*)"|(\S)', text)
    return [Key(name, CHARACTERS.get(name)) if name else Paste(pasted) if pasted else Key(_character_to_key(one), one)
            for name, pasted, one in found]  # fmt: skip


async def types(app: ConsoleApp, pilot: Pilot[Any], text: str, *, slowly: bool) -> None:
    """Until nothing is left to be given to anyone."""
    for one in keys(text):
        app.post_message(one)
        if slowly:
            await _given(app, pilot)
            await pilot.pause(SLOW_S)  # a slow typist looks at what comes of it, such as a search's hits
    await _given(app, pilot)


async def _given(app: ConsoleApp, pilot: Pilot[Any]) -> None:
    await pilot.pause()
    while app._typed._waiting or not (app._typed._settling is None or app._typed._settling.done()):
        await pilot.pause()
    await pilot.pause()


def told(app: ConsoleApp) -> dict[str, object]:
    """Where the console is: screens, focus, zoom, texts, cursors, scrolls, toasts, and what is to be seen."""
    parts = [part for screen in app.screen_stack for part in screen.query("*")]
    return {
        "screens": app.screen_stack.__repr__(),
        "focus": f"{app.focused!r}",
        "zoomed": f"{app.screen.maximized!r}",
        "texts": [part.value if isinstance(part, Input) else part.text for part in parts
                  if isinstance(part, Input | TextArea)],
        "rows": [part.cursor_text for part in parts if isinstance(part, LineTable)],
        "scrolls": [part.scroll_target_y for part in parts],
        "toasts": {toast.message for toast in app._notifications},
        "shown": frame(app),
    }  # fmt: skip
