"""Screen 0: the host picker, made from the SSH configuration, recent boxes, `local` and `demo`."""

from __future__ import annotations

from collections.abc import Iterable

from textual import on
from textual.widget import Widget

from console.screens.base import DeckScreen
from console.screens.deck import deck_of
from console.screens.frame import Frame
from widgets.cells import Cell, Row, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.pane import Pane

COLUMNS = (
    Column("host", 16, flex=1),
    Column("link", 12),
    Column("from", 12, flex=1),
    Column("way", 20, flex=3, priority=1),
)


class HostsScreen(DeckScreen):
    """Choose a box with enter; boxes that are open already are shown with their link."""

    def body(self) -> Iterable[Widget]:
        table = LineTable(COLUMNS, cursor=True, empty="reading your SSH configuration", id="host-table")
        yield Pane("Hosts", table, keys="enter opens", id="hosts")

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one(LineTable).focus()

    def paint(self, frame: Frame) -> None:
        super().paint(frame)
        app = deck_of(self)
        open_hosts = frame.session.state.hosts
        rows = [
            Row(
                (
                    Cell(name, "strong"),
                    State(*_link(host.link.state)),
                    Cell("open", "label"),
                    Cell(" → ".join(host.link.via), "dim"),
                ),
                key=name,
            )
            for name, host in open_hosts.items()
        ]
        rows += [
            Row(
                (Cell(choice.name), Cell("", "dim"), Cell(choice.source, "label"), Cell(choice.way, "dim")),
                key=choice.name,
            )
            for choice in app.choices
            if choice.name not in open_hosts
        ]
        self.query_one(LineTable).set_rows(rows)

    @on(LineTable.Chosen)
    def _chosen(self, message: LineTable.Chosen) -> None:
        deck_of(self).show_host(message.key)


def _link(state: str) -> tuple[StateKind, str]:
    kinds: dict[str, StateKind] = {"up": "ok", "connecting": "busy", "stale": "stale"}
    return kinds.get(state, "fail"), state
