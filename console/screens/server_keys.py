"""Keys of screen 5: find and filter in the log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from console.screens.serve import ServerScreen


def _search(mode: str, deck: Deck, _frame: Frame) -> None:
    if isinstance(deck.screen, ServerScreen):
        deck.screen.search(mode)


HANDLERS: Mapping[str, Handler] = {"find": partial(_search, "find"), "filter": partial(_search, "filter")}
