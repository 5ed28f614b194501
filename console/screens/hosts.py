"""Screen 0: the host picker, made from the SSH configuration, recent boxes, `local` and `demo`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from textual import on
from textual.widget import Widget

from console.screens.deck import deck_of
from console.screens.frame import Frame
from console.screens.pane import Named, hints_of
from console.screens.searching import SearchScreen
from console.session.protocol import HostChoice
from console.state import HostState
from widgets.cells import Cell, Row, State, StateKind
from widgets.find_bar import FindBar
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.pane import Hint, Pane

COLUMNS = (
    Column("host", 16, flex=1),
    Column("link", 12),
    Column("from", 12),
    Column("way", 20, flex=4, priority=1),
)
_KINDS: dict[str, StateKind] = {"up": "ok", "connecting": "busy", "stale": "stale"}


class HostsScreen(SearchScreen):
    """Choose a box with enter; boxes that are open already come first, with their link."""

    def body(self) -> Iterable[Widget]:
        table = LineTable(COLUMNS, cursor=True, empty="reading your SSH configuration", id="host-table")
        pane = Pane("Hosts", table, FindBar(), id="hosts")
        pane.set_foot(hints_of(deck_of(self).table, Hint("enter", "open", "screen.open"), Named("find", "find")))
        yield pane

    def action_open(self) -> None:
        """What enter does."""
        self.searched.action_choose()

    @property
    def searched(self) -> LineTable:
        return cast(LineTable, self.query_one("#host-table"))

    def on_mount(self) -> None:
        super().on_mount()
        self.searched.focus()

    def paint(self, frame: Frame) -> None:
        super().paint(frame)
        choices = {choice.name: choice for choice in deck_of(self).choices}
        opened = frame.session.state.hosts
        rows = [_open(host, choices.get(name)) for name, host in opened.items()]
        rows += [_closed(choice) for name, choice in choices.items() if name not in opened]
        self.searched.set_rows(rows)

    @on(LineTable.Chosen)
    def _chosen(self, message: LineTable.Chosen) -> None:
        deck_of(self).show_host(message.key)


def _open(host: HostState, choice: HostChoice | None) -> Row:
    state = State(_KINDS.get(host.link.state, "fail"), host.link.state)
    way = " → ".join(host.link.via) or (choice.way if choice else "")
    return Row((Cell(host.name, "strong"), state, Cell("open", "label"), Cell(way, "dim")), key=host.name)


def _closed(choice: HostChoice) -> Row:
    cells = (Cell(choice.name), Cell("", "dim"), Cell(choice.source, "label"), Cell(choice.way, "dim"))
    return Row(cells, key=choice.name)
