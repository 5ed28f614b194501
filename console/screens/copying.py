"""Text that leaves the screen: into the clipboard, and into private files of the laptop."""

from __future__ import annotations

import re
from pathlib import Path

from console.config.paths import home_dir, write_private
from console.screens.deck import Deck
from console.values.secrets import redact

_NO_NAME = re.compile(r"[^A-Za-z0-9._+=-]+")
# Terminals and multiplexers cut longer clipboard sequences off, some without a word.
MOST_BYTES = 8192


def copy(deck: Deck, text: str, what: str) -> None:
    """Copy, and say so; a long text goes into a file, too."""
    text = redact(text)
    deck.copy_to_clipboard(text)
    if len(text.encode()) <= MOST_BYTES:
        deck.notify(f"copied {what}")
        return
    path = save(deck, "copied.txt", text)
    if path is not None:
        deck.notify(f"copied {what}; a terminal may cut so long a text off: it is also in {path}")


def save(deck: Deck, name: str, text: str) -> Path | None:
    """Write a file below the data directory, 0600, secrets out; None, and a word about it, when it cannot be."""
    path = home_dir("data") / "saved" / _NO_NAME.sub("-", name).lstrip(".")  # a box says what its servers are called
    try:
        write_private(path, redact(text).encode())
    except OSError as error:
        deck.notify(f"{path} cannot be written: {error.strerror}", severity="error")
        return None
    return path
