"""The phases of a start: done with its time, running with its progress, to come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from widgets.cells import Bar, Cell, Line, Piece, State, StateKind
from widgets.lines import Lines


class Phase(NamedTuple):
    """One phase. `ratio` None with kind `busy` shows no bar; `detail` is `214 s`, `12/64 · eta 40 s`."""

    kind: StateKind
    name: str
    detail: str = ""
    ratio: float | None = None


class PhaseBar(Lines):
    """Phases in order, wrapped when they do not fit."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(wrap=True, id=id, classes=classes)

    def set_phases(self, phases: Sequence[Phase]) -> None:
        """Show these phases."""
        pieces: list[Piece] = []
        for phase in phases:
            if pieces:
                pieces.append(Cell("  "))
            pieces += _phase_pieces(phase)
        self.set_lines([Line(tuple(pieces))])


def _phase_pieces(phase: Phase) -> list[Piece]:
    pieces: list[Piece] = [State(phase.kind, phase.name)]
    if phase.ratio is not None:
        pieces += [Cell(" "), Bar(phase.ratio, "bar-busy", width=10)]
    if phase.detail:
        pieces.append(Cell(f" {phase.detail}", "dim"))
    return pieces
