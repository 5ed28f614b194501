"""The jobs pane, and screen 8 with one job in full."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from textual.containers import Vertical
from textual.widget import Widget

from console.screens.base import DeckScreen
from console.screens.frame import Frame
from console.screens.pane import DeckPane, sentence
from console.values import Unknown, known
from console.views.jobs import JobRow, find_job, job_rows, job_texts
from widgets.cells import Cell, Row, State, StateKind
from widgets.layout import Column
from widgets.line_table import LineTable
from widgets.lines import Lines

COLUMNS = (
    Column("kind", 8),
    Column("target", 14, flex=3, middle=True),
    Column("state", 16),
    Column("time", 10, align="right", priority=1),
    Column("by", 12, flex=1, priority=2),
    Column("", 10, flex=3, priority=3),
)


class JobsPane(DeckPane):
    """Every job of the box: running ones first, then the youngest."""

    slices: ClassVar = ("jobs",)
    stale_after_s: ClassVar = 65.0  # an unchanged sample comes every 30 s

    def __init__(self) -> None:
        self._second = -1
        self.table = LineTable(COLUMNS, cursor=True, empty="waiting for the first sample", id="jobs-table")
        super().__init__("Jobs", self.table, focusable=True, id="jobs")

    def paint(self, frame: Frame) -> None:
        """How long a job runs changes each second, without a fact."""
        if self._second != int(frame.now):
            self._second, self._painted = int(frame.now), None
        super().paint(frame)

    def data_t(self, frame: Frame) -> float | Unknown:
        return frame.host.jobs.seen_t if frame.host else Unknown("no box")

    def show(self, frame: Frame) -> None:
        host = frame.host
        if host is None:
            return
        jobs = host.jobs.jobs
        if not known(jobs):
            self.table.set_empty(f"unknown: {jobs.reason}")
        elif not jobs:
            self.table.set_empty("no jobs on this box")
        self.table.set_rows([_row(row) for row in job_rows(host, frame.now)])


def _row(row: JobRow) -> Row:
    return Row(
        (
            Cell(row.what, "label"),
            Cell(row.target, "strong"),
            State(cast(StateKind, row.kind), row.word),
            Cell(row.age),
            Cell(row.by, "dim"),
            Cell(row.detail, "dim"),
        ),
        key=row.id,
    )


class JobPane(DeckPane):
    """The job under the cursor: who, what, where, and how it ended."""

    slices: ClassVar = ("jobs",)

    def __init__(self, jobs: JobsPane) -> None:
        self._jobs = jobs
        self._shown = ""
        self._lines = Lines(wrap=True, id="job-lines")
        super().__init__("Job", self._lines, id="job")

    def paint(self, frame: Frame) -> None:
        """The cursor, too, decides what is shown."""
        if self._shown != self._jobs.table.cursor_key:
            self._shown, self._painted = self._jobs.table.cursor_key, None
        super().paint(frame)

    def show(self, frame: Frame) -> None:
        host = frame.host
        job = find_job(host, self._shown) if host else None
        lines = [sentence(text) for text in job_texts(job)] if job else []
        failed = host.jobs.failed if host else None
        if failed is not None and failed.job == self._shown:
            lines.append(sentence(f"  {failed.action} refused: {failed.reason}", "warn"))
        self._lines.set_lines(lines)


class JobsScreen(DeckScreen):
    """Screen 8."""

    def body(self) -> Iterable[Widget]:
        jobs = JobsPane()
        yield Vertical(jobs, JobPane(jobs), id="jobs-body")

    def on_line_table_moved(self) -> None:
        """Another job is under the cursor."""
        self.repaint()

    @property
    def chosen(self) -> str:
        """The id of the job under the cursor."""
        return self.query_one(JobsPane).table.cursor_key
