"""`/` finds and `&` filters on screens that have a list or a log to search."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from console.screens.base import DeckScreen
from console.screens.deck import Deck
from console.screens.frame import Frame
from console.screens.handler import Handler
from widgets.find_bar import FindBar
from widgets.line_table import LineTable
from widgets.log_view import LogView


class SearchScreen(DeckScreen):
    """Subclasses put a FindBar into their body and say what it searches."""

    _held = 0

    @property
    def searched(self) -> LineTable | LogView:
        """The list or the log."""
        raise NotImplementedError

    def search(self, mode: str) -> None:
        """Open the bar to find or to filter."""
        self.query_one(FindBar).open(mode)

    def on_find_bar_changed(self, event: FindBar.Changed) -> None:
        """Look at every key."""
        if event.mode == "filter":
            self.searched.set_filter(event.text)
        else:
            self._held = self.searched.find(event.text)

    def on_find_bar_closed(self, event: FindBar.Closed) -> None:
        """Keep what was typed; empty after escape."""
        self.on_find_bar_changed(event)
        self.searched.focus()
        self.repaint()

    def paint(self, frame: Frame) -> None:
        """What is sought and by what is filtered stands there as long as it is in force."""
        super().paint(frame)
        for bar in self.query(FindBar):
            bar.tell(self._in_force(bar.texts))

    def _in_force(self, texts: Mapping[str, str]) -> list[str]:
        said = []
        if text := texts.get("filter"):
            said.append(f'filter "{text}": {self.searched.shown or "nothing"} left')
        if text := texts.get("find"):
            said.append(f'find "{text}": held by {self._held or "nothing"}')
        return ["esc takes away", *said] if said else []

    def forget(self) -> bool:
        """Show everything again, without marks; False when nothing was in force."""
        texts = self.query_one(FindBar).texts
        before = any(texts.values())
        texts.clear()
        self.searched.set_filter("")
        self.searched.find("")
        self.repaint()
        return before


def _search(mode: str, deck: Deck, _frame: Frame) -> None:
    if isinstance(deck.screen, SearchScreen) and deck.screen.searched.region:
        deck.screen.search(mode)
    else:
        deck.notify("Nothing to search on this screen.")


HANDLERS: Mapping[str, Handler] = {"find": partial(_search, "find"), "filter": partial(_search, "filter")}
