"""The NEXT line: the one thing that blocks, and the key that resolves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from widgets.cells import Cell, Line, Piece, State, StateKind
from widgets.key_line import KeyLine


class KeyHint(NamedTuple):
    """A key and what it does here."""

    key: str
    does: str


class NextLine(KeyLine):
    """`NEXT ▶ sentence   [enter] link  [r] check again`; the keys stay when the sentence is cut."""

    def set_next(self, kind: StateKind, sentence: str, keys: Sequence[KeyHint] = (), count: str = "") -> None:
        """`kind` colours it; `count` such as `1/3` says that there is more."""
        left = (
            Cell("NEXT ", f"{kind} bold"),
            State(kind, ""),
            Cell(f" {sentence}", "strong" if kind == "fail" else ""),
        )
        right: list[Piece] = []
        for hint in keys:
            right += [Cell("  " if right else ""), Cell(f"[{hint.key}]", "key"), Cell(f" {hint.does}", "dim")]
        if count:
            right.append(Cell(f"  {count}" if right else count, "dim"))
        self.set_lines([Line(left, tuple(right))])
