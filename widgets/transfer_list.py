"""Files on their way: state, bar, amount, rate, time left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from widgets.cells import Bar, Cell, Row, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable


class Transfer(NamedTuple):
    """One file or repository. `ratio` None is unknown; the texts are already formatted with their units."""

    name: str
    kind: StateKind
    word: str
    ratio: float | None
    amount: str = ""
    rate: str = ""
    left: str = ""


COLUMNS = (
    Column("name", 14, flex=3, middle=True),
    Column("state", 11),
    Column("progress", 8, flex=1, priority=3),
    Column("%", 4, align="right"),
    Column("amount", 17, align="right", priority=1),
    Column("rate", 11, align="right", priority=2),
    Column("left", 10, align="right", priority=4),
)


class TransferList(LineTable):
    """A table of transfers; keys are the names."""

    def __init__(
        self, *, cursor: bool = False, header: bool = False, id: str | None = None, classes: str | None = None
    ) -> None:
        super().__init__(COLUMNS, cursor=cursor, header=header, empty="no transfers", id=id, classes=classes)

    def set_transfers(self, transfers: Sequence[Transfer]) -> None:
        """Show these transfers."""
        self.set_rows([_row(transfer) for transfer in transfers])


def _row(transfer: Transfer) -> Row:
    percent = "?" if transfer.ratio is None else f"{int(transfer.ratio * 100)}%"
    ink = {"busy": "bar-busy", "ok": "bar-ok", "fail": "fail", "warn": "warn"}.get(transfer.kind, "bar")
    return Row(
        (
            Cell(transfer.name),
            State(transfer.kind, transfer.word),
            Bar(transfer.ratio, ink),
            Cell(percent),
            Cell(transfer.amount, "label"),
            Cell(transfer.rate),
            Cell(transfer.left, "dim"),
        ),
        key=transfer.name,
    )
