"""The Hugging Face pane, and the screen with every repository, transfer and stored model in full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from textual.containers import Vertical
from textual.widget import Widget

from console.events.hub import StoredModel
from console.intents import spoken
from console.screens.base import DeckScreen
from console.screens.frame import Frame
from console.screens.pane import DeckPane, sentence
from console.values import Unknown, format_gb, known
from console.views.hub import RepoRow, proof_kind, repo_rows, token_line
from console.views.hub_models import detail_lines, stored_models, users_of
from console.views.hub_transfers import TransferRow, transfer_rows
from widgets.cells import Cell, Line, Row, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.lines import Lines
from widgets.transfer_list import Transfer, TransferList

COLUMNS = (
    Column("repository", 14, flex=3, middle=True),
    Column("access", 12, flex=1),
    Column("size", 9, align="right", priority=1),
    Column("proof", 8, flex=2),
    Column("where", 8, flex=3, priority=2),
)
STORED = (
    Column("size", 9, align="right"),
    Column("proof", 13),
    Column("where", 14, flex=8, middle=True),
    Column("", 10, flex=3, priority=1),
    Column("device", 8, priority=2),
)


class HubPane(DeckPane):
    """Token, repositories with access and proof, transfers."""

    slices: ClassVar = ("hub",)
    stale_after_s: ClassVar = 15.0

    def __init__(self) -> None:
        self._token = Lines(wrap=True, id="hub-token")
        self._repos = LineTable(COLUMNS, empty="no repository yet", id="hub-repos")
        self._transfers = TransferList(id="hub-transfers")
        super().__init__("Hugging Face", self._token, self._repos, self._transfers, focusable=True, id="hub")

    def data_t(self, frame: Frame) -> float | Unknown:
        """A transfer ages; what the Hub said of token and access is true until it is asked again."""
        repos = frame.host.hub.repos.values() if frame.host else ()
        moving = [repo.download_t for repo in repos if repo.download is not None and known(repo.download_t)]
        return min(moving, default=Unknown("nothing is on its way"))

    def show(self, frame: Frame) -> None:
        host = frame.host
        if host is None:
            return
        kind, sentence = token_line(host)
        self._token.set_lines([Line((State(cast(StateKind, kind), ""), Cell(f" {sentence}")))])
        self._repos.set_rows([_row(row) for row in repo_rows(host)])
        transfers = transfer_rows(host)
        self._transfers.display = bool(transfers)
        self._transfers.set_transfers([_transfer(row) for row in transfers])


def _row(row: RepoRow) -> Row:
    return Row(
        (
            Cell(row.id, "strong"),
            State(cast(StateKind, row.kind), row.word),
            Cell(row.size),
            State(cast(StateKind, row.proof_kind), row.proof),
            Cell(row.detail, "dim"),
        ),
        key=row.id,
    )


def _transfer(row: TransferRow) -> Transfer:
    return Transfer(row.name, cast(StateKind, row.kind), row.word, row.ratio, row.amount, row.rate, row.left)


class HubDetailPane(DeckPane):
    """What stands in the way of each repository, what a pause finishes, what is wrong."""

    slices: ClassVar = ("hub",)

    def __init__(self) -> None:
        self._lines = Lines(wrap=True, id="hub-lines")
        super().__init__("Repositories", self._lines, focusable=True, id="hub-detail")

    def show(self, frame: Frame) -> None:
        if frame.host is not None:
            self._lines.set_lines([sentence(spoken(text, frame.table), ink) for text, ink in detail_lines(frame.host)])


class StoredPane(DeckPane):
    """The models on the box, by device: the one under the cursor can be deleted."""

    slices: ClassVar = ("hub",)

    def __init__(self) -> None:
        self.table = LineTable(STORED, cursor=True, empty="not listed yet", id="stored-table")
        super().__init__("Stored", self.table, focusable=True, id="stored")

    def show(self, frame: Frame) -> None:
        if frame.host is None:
            return
        inventory = frame.host.hub.inventory
        self.table.set_empty("no model" if known(inventory) else f"unknown: {inventory.reason}")
        self.table.set_rows([_stored_row(model) for model in stored_models(frame.host)])


def _stored_row(model: StoredModel) -> Row:
    users = users_of(model)
    leftovers = f"leftovers {format_gb(model.orphan_bytes)}" if model.orphans else ""
    return Row(
        (
            Cell(format_gb(model.size_bytes)),
            State(cast(StateKind, proof_kind(model.proof)), model.proof),
            Cell(model.path, "strong"),
            Cell(f"open by {users}" if users else leftovers, "warn" if users else "dim"),
            Cell(model.device, "dim"),
        ),
        key=model.path,
    )


class HubScreen(DeckScreen):
    """Screen 3."""

    def body(self) -> Iterable[Widget]:
        yield Vertical(HubPane(), HubDetailPane(), StoredPane(), id="hub-body")

    @property
    def chosen(self) -> str:
        """The path of the stored model under the cursor."""
        return self.query_one(StoredPane).table.cursor_key
