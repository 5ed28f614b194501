"""Gates: glyph + word + name, the sentence with its arithmetic, the ways out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from widgets.cells import Cell, Line, State, StateKind
from widgets.layout import wrap_line
from widgets.lines import Lines


class Gate(NamedTuple):
    """One answer of a gate. `word` is its verdict; `ways_out` are sentences, best first."""

    kind: StateKind
    word: str
    name: str
    sentence: str
    ways_out: tuple[str, ...] = ()


class GateList(Lines):
    """Gates one below the other; long sentences are wrapped, never cut."""

    NAME_WIDTH = 12
    WORD_WIDTH = 8
    WIDE = 72

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(wrap=True, id=id, classes=classes)
        self._gates: tuple[Gate, ...] = ()

    def set_gates(self, gates: Sequence[Gate]) -> None:
        """Show these gates."""
        if tuple(gates) != self._gates:
            self._gates = tuple(gates)
            self.reflow()

    def lines_for(self, width: int) -> list[Line]:
        """Wide: sentences hang under their first word; narrow: under the gate's word."""
        indent = 2 + self.WORD_WIDTH + self.NAME_WIDTH if width >= self.WIDE else 2
        lines = [line for gate in self._gates for line in self._gate_lines(gate, indent)]
        return [part for line in lines for part in wrap_line(line, width, self.glyphs)]

    def _gate_lines(self, gate: Gate, indent: int) -> list[Line]:
        word = gate.word.ljust(self.WORD_WIDTH)
        name = gate.name.ljust(self.NAME_WIDTH) if indent > 2 else f"{gate.name}  "
        lines = [Line((State(gate.kind, word), Cell(name, "strong"), Cell(gate.sentence)), indent=indent)]
        for way in gate.ways_out:
            pieces = (Cell(" " * indent), Cell("→ ", "key"), Cell(way, "label"))
            lines.append(Line(pieces, indent=indent + 2))
        return lines
