"""Screen 7: the stored runs, and the one under the cursor against its baseline."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from textual.containers import Vertical
from textual.screen import Screen
from textual.widget import Widget

from console.events.bench import StoredRun
from console.intents import key_of
from console.screens.deck import deck_of
from console.screens.frame import Frame
from console.screens.pane import DeckPane
from console.screens.searching import SearchScreen
from console.values import known
from widgets.cells import Cell, Line, Row, State
from widgets.find_bar import FindBar
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.lines import Lines

COLUMNS = (
    Column("mark", 10),
    Column("measured", 16, priority=2),
    Column("recipe", 16, flex=3, middle=True),
    Column("host", 10, flex=1, priority=3),
    Column("preset", 8, priority=4),
    Column("points", 6, align="right", priority=1),
    Column("best tok/s", 10, align="right"),
    Column("flags", 14, flex=2, priority=1),
)


class RunsPane(DeckPane):
    """All runs of this laptop, newest first."""

    def __init__(self) -> None:
        self.table = LineTable(COLUMNS, cursor=True, id="runs-table")
        self.bar = FindBar(id="runs-bar")
        self._revision = -1
        super().__init__("Runs", self.table, self.bar, focusable=True, id="runs")

    def on_mount(self) -> None:
        key = key_of("bench", deck_of(cast("Screen[None]", self.screen)).table)
        self.table.set_empty(f"no runs yet: {key} measures the running server")

    def paint(self, frame: Frame) -> None:
        """The runs belong to the session, not to a box."""
        session = frame.session.state.session
        if self._revision != session.runs_revision:
            self._revision = session.runs_revision
            self.show(frame)

    def show(self, frame: Frame) -> None:
        listed = frame.session.state.session.runs
        if listed is not None:
            self.set_title(
                "Runs", f"{len(listed.runs) or ''}" + (f" of {len(listed.runs) + listed.older}" * bool(listed.older))
            )
            self.table.set_rows([_row(run) for run in listed.runs])


def _row(run: StoredRun) -> Row:
    best = f"{run.best_tok_s:.1f}" if known(run.best_tok_s) else "–"
    return Row(
        (
            State("ok", run.mark) if run.mark else Cell(""),
            Cell(run.created[:16].replace("T", " "), "label"),
            Cell(run.recipe, "strong"),
            Cell(run.host, "label"),
            Cell(run.preset, "label"),
            Cell(str(run.points)),
            Cell(best),
            Cell(" ".join(run.flags), "warn"),
        ),
        key=run.id,
    )


class ComparePane(DeckPane):
    """The run under the cursor against the marked baseline, or the comparable run before it."""

    def __init__(self, runs: RunsPane) -> None:
        self._runs = runs
        self._lines = Lines(wrap=True, id="compare-lines")
        self._now: tuple[str, int] = ("", -1)
        super().__init__("Compare", self._lines, id="compare")

    def paint(self, frame: Frame) -> None:
        """The cursor decides what is shown."""
        now = (self._runs.table.cursor_key, frame.session.state.session.runs_revision)
        if now != self._now:
            self._now = now
            self.show(frame)

    def show(self, frame: Frame) -> None:
        listed = frame.session.state.session.runs
        run = next((one for one in listed.runs if one.id == self._now[0]), None) if listed else None
        if run is None:
            self._lines.set_lines([Line((Cell("choose a run to compare it", "dim"),))])
            return
        lines = [Line((Cell(note, "label"),)) for note in run.notes]
        lines += [Line((Cell(text, _ink(text)),)) for text in run.comparison]
        self._lines.set_lines(lines or [Line((Cell("nothing to compare it with", "dim"),))])


def _ink(text: str) -> str:
    if "not comparable" in text:
        return "warn"
    if " faster" in text or " slower" in text:
        return "strong"
    return ""


class RunsScreen(SearchScreen):
    """Screen 7."""

    def body(self) -> Iterable[Widget]:
        runs = RunsPane()
        yield Vertical(runs, ComparePane(runs), id="runs-body")

    @property
    def searched(self) -> LineTable:
        return self.query_one(RunsPane).table

    def on_screen_resume(self) -> None:
        controls = deck_of(self).session.controls
        if controls and self.is_current:
            controls.watch_runs()

    def on_line_table_moved(self) -> None:
        """Another run is under the cursor."""
        self.repaint()
