"""Screen 4: what the box's SGLang can do, every gate of the recipe that was asked last, and the memory per GPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from textual.containers import Vertical
from textual.widget import Widget

from console.intents import key_of, spoken
from console.screens.base import DeckScreen
from console.screens.frame import Frame
from console.screens.pane import DeckPane
from console.state.plan import Checked
from console.views.plan import (
    LEGEND,
    LETTERS,
    FitRow,
    GateRow,
    engine_lines,
    fit_rows,
    fit_sentence,
    fit_sources,
    gate_rows,
    served_line,
)
from widgets.cells import Cell, Line, State, StateKind
from widgets.gate_list import Gate, GateList
from widgets.lines import Lines

BAR_WIDTH = 28  # at most; what the text beside it leaves
BAR_TEXT = 64
# The ink of each part; its letter alone is enough.
INKS = {"weights": "series-0", "draft": "series-1", "kv": "series-2", "foreign": "warn"}


class PlanPane(DeckPane):
    """The interpreter's SGLang, the recipe's class, and its gates."""

    slices: ClassVar = ("plan",)

    def __init__(self) -> None:
        self._head = Lines(wrap=True, id="plan-head")
        self._gates = GateList(id="plan-gates")
        super().__init__("Plan", self._head, self._gates, focusable=True, id="plan")

    def show(self, frame: Frame) -> None:
        plan = frame.host.plan.shown if frame.host else None
        self._head.set_lines([*_engines(frame), *(_title(plan) if plan else [_no_plan(frame)])])
        rows = gate_rows(plan) if plan else []
        self._gates.set_gates(
            [Gate(cast(StateKind, row.kind), row.word, row.name, row.sentence, _ways(row, frame)) for row in rows]
        )


def _ways(row: GateRow, frame: Frame) -> tuple[str, ...]:
    return tuple(spoken(way, frame.table) for way in row.ways_out)


class FitPane(DeckPane):
    """One stacked bar a GPU, and one sentence with the arithmetic and its sources."""

    slices: ClassVar = ("plan",)

    def __init__(self) -> None:
        self._lines = Lines(wrap=True, id="fit-lines")
        super().__init__("Fit", self._lines, focusable=True, id="fit")

    def show(self, frame: Frame) -> None:
        plan = frame.host.plan.shown if frame.host else None
        if plan is None:
            self._lines.set_lines([_no_plan(frame)])
            return
        rows = fit_rows(plan)
        notes = [LEGEND, fit_sources(plan)] if rows else []
        bar_width = max(8, min(BAR_WIDTH, self.size.width - BAR_TEXT))
        self._lines.set_lines(
            [
                Line((Cell(fit_sentence(plan)),)),
                *(_bar(row, bar_width) for row in rows),
                *(Line((Cell(note, "dim"),)) for note in notes if note),
            ]
        )


class PlanScreen(DeckScreen):
    """The plan over the fit."""

    def body(self) -> Iterable[Widget]:
        yield Vertical(PlanPane(), FitPane(), id="plan-body")


def _no_plan(frame: Frame) -> Line:
    key = key_of("start", frame.table)
    return Line(
        (Cell(f"No recipe has been checked: {key} asks the gates of one (gpudeck preflight HOST RECIPE)", "dim"),)
    )


def _engines(frame: Frame) -> list[Line]:
    return [Line((Cell(line, "label"),)) for line in engine_lines(frame.host.plan)] if frame.host else []


_VERDICTS: dict[str | None, StateKind] = {"pass": "ok", "warn": "warn", "unknown": "unknown", "block": "fail"}


def _title(plan: Checked) -> list[Line]:
    kind = _VERDICTS.get(plan.verdict, "busy")
    drafter = f" with {plan.draft}" if plan.draft else ""
    word = State(kind, plan.verdict or "asking")
    head = Line((word, Cell(f" {plan.recipe}", "strong"), Cell(f"  {plan.model}{drafter}")))
    served = served_line(plan)
    return [head, Line((Cell(served, "dim"),))] if served else [head]


def _bar(row: FitRow, width: int) -> Line:
    pieces = [Cell(f"{row.label:>3} ")]
    used = 0
    for part in row.parts:
        cells = max(1, round(part.ratio * width))
        pieces.append(Cell(LETTERS[part.name] * min(cells, width - used), INKS.get(part.name, "dim")))
        used = min(width, used + cells)
    pieces += [Cell("·" * (width - used), "track"), Cell(f" {row.text}", "label")]
    return Line(tuple(pieces), indent=4)
