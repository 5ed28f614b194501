"""The phases of a start: done with its time, running with its progress, to come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from widgets.cells import Bar, Cell, Line, Piece, State, StateKind, spans_width
from widgets.layout import piece_spans
from widgets.lines import Lines


class Phase(NamedTuple):
    """One phase. `ratio` None with kind `busy` shows no bar; `detail` is `214 s`, `12/64 · eta 40 s`."""

    kind: StateKind
    name: str
    detail: str = ""
    ratio: float | None = None


class PhaseBar(Lines):
    """Phases in order; each stays in one piece when the bar takes several lines."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._phases: tuple[Phase, ...] = ()

    def set_phases(self, phases: Sequence[Phase]) -> None:
        """Show these phases."""
        if tuple(phases) != self._phases:
            self._phases = tuple(phases)
            self.reflow()

    def lines_for(self, width: int) -> list[Line]:
        """As many phases in each line as fit."""
        lines: list[list[Piece]] = [[]]
        used = 0
        for phase in self._phases:
            pieces = _phase_pieces(phase)
            size = sum(spans_width(piece_spans(piece, self.glyphs)) for piece in pieces)
            if used and used + 2 + size > width:
                lines.append([])
                used = 0
            lines[-1] += [Cell("  "), *pieces] if used else pieces
            used += size + 2 * bool(used)
        return [Line(tuple(pieces)) for pieces in lines]


def _phase_pieces(phase: Phase) -> list[Piece]:
    pieces: list[Piece] = [State(phase.kind, phase.name)]
    if phase.ratio is not None:
        pieces += [Cell(" "), Bar(phase.ratio, "bar-busy", width=10)]
    if phase.detail:
        pieces.append(Cell(f" {phase.detail}", "dim"))
    return pieces
