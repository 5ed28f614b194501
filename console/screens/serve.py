"""The server pane and the log pane, and screen 5 with both."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, cast

from textual.containers import Vertical
from textual.screen import Screen
from textual.widget import Widget

from console.events.serve import LogRow, ServerProgressed
from console.screens.deck import deck_of
from console.screens.frame import Frame
from console.screens.pane import DeckPane, Named, fill, sentence
from console.screens.searching import SearchScreen
from console.state.serve import LogGap, ServerState
from console.values import Unknown, format_duration, known
from console.views.serve import main_server
from console.views.server_log import gap_text, last_rows
from console.views.server_pane import (
    Gauge,
    PhaseStep,
    deploy_said,
    gauges,
    headline,
    phase_steps,
    said,
    server_kind,
    title_text,
)
from widgets.cells import Bar, Cell, Line, Piece, State, StateKind
from widgets.find_bar import FindBar
from widgets.lines import Lines
from widgets.log_lines import LogLine
from widgets.log_view import LogView
from widgets.phase_bar import Phase, PhaseBar

ROOM_FOR_BARS = 90
_STEP_KINDS: dict[str, StateKind] = {"done": "ok", "active": "busy", "failed": "fail", "ahead": "off"}


class ServerPane(DeckPane):
    """The server that matters: its phases while it starts, its load, its cause and ways out when it failed."""

    slices: ClassVar = ("serve", "jobs")
    stale_after_s: ClassVar = 15.0

    def __init__(self) -> None:
        self._head = Lines(wrap=True, id="server-head")
        self._phases = PhaseBar(id="server-phases")
        self._said = Lines(wrap=True, id="server-said")
        super().__init__("Server", self._head, self._phases, self._said, focusable=True, id="server")

    def paint(self, frame: Frame) -> None:
        """Clocks run: a start is painted every second, too."""
        server = main_server(frame.host) if frame.host else None
        if server is not None and server.phase not in ("ready", "stopped", "crashed"):
            self._painted = None
        super().paint(frame)

    def data_t(self, frame: Frame) -> float | Unknown:
        server = main_server(frame.host) if frame.host else None
        if server is None or server.gauges is None or server.phase != "ready":
            return Unknown("no live gauges")
        return server.gauges_t

    def show(self, frame: Frame) -> None:
        host = frame.host
        if host is None:
            return
        server = main_server(host)
        if server is None:
            listed = host.serve.listed
            text = "no server runs on this box" if known(listed) else f"unknown: {listed.reason}"
            self._head.set_lines([Line((Cell(text, "dim"),))])
            self._show_phases([])
            fill(self._said, [sentence(text, ink) for text, ink in deploy_said(host)])
            return
        word = State(cast(StateKind, server_kind(server)), headline(server))
        load = _load(gauges(server), bars=self.size.width >= ROOM_FOR_BARS)
        self._head.set_lines([Line((word, Cell(f"  {title_text(host, server)}", "label"))), *load])
        self._show_phases([_phase(step) for step in phase_steps(server, frame.now)])
        fill(self._said, [sentence(text, ink) for text, ink in said(host, server, frame.now)])

    def _show_phases(self, phases: list[Phase]) -> None:
        self._phases.display = bool(phases)
        self._phases.set_phases(phases)


def _load(shown: list[Gauge], *, bars: bool) -> list[Line]:
    pieces: list[Piece] = []
    for gauge in shown:
        pieces.append(Cell(("  " if pieces else "") + gauge.text, "dim" if gauge.stale else "strong"))
        if gauge.name in ("running", "queued"):
            pieces.append(Cell(f" {gauge.name}", "label"))
        if gauge.ratio is not None and bars:
            pieces += [Cell(" "), Bar(gauge.ratio, width=10)]
    if any(gauge.stale for gauge in shown):
        pieces.append(Cell("  stale", "stale"))
    return [Line(tuple(pieces))] if pieces else []


def _phase(step: PhaseStep) -> Phase:
    detail = f"{step.done}/{step.total}" if step.total else ""
    if step.seconds is not None and step.state != "ahead" and step.name != "ready":
        detail = f"{detail} {format_duration(max(0.0, step.seconds))}".strip()
    ratio = step.done / step.total if step.total else None
    return Phase(_STEP_KINDS[step.state], step.name, detail, ratio)


class LogPane(DeckPane):
    """The server's log: follows, finds, filters. What the box's file held before the ring is named."""

    slices: ClassVar = ("serve",)
    hints: ClassVar = (Named("find", "find"), Named("filter", "filter"))

    def __init__(self) -> None:
        self.view = LogView(empty="nothing was logged yet", id="server-log")
        self.bar = FindBar(id="log-bar")
        self._shown: tuple[str, int] = ("", 0)
        self._older: object = None
        self._forgot = True
        self._bars: tuple[ServerProgressed, ...] = ()
        super().__init__("Log", self.view, self.bar, focusable=False, id="log")

    def show(self, frame: Frame) -> None:
        server = main_server(frame.host) if frame.host else None
        if server is None:
            return
        name, count = self._shown
        if name != server.id or count > server.log_count:
            self.view.clear()
            count, self._bars = 0, ()
            self.set_title("Log", server.id)
        new = min(server.log_count - count, len(server.log))
        lines = [_line(row) for row in last_rows(server, new)]
        if new < server.log_count - count:
            lines.insert(0, LogLine(f"… {server.log_count - count - new} lines before are in the box's file", "debug"))
        self._shown = (server.id, server.log_count)
        bars = self._bar_lines(server)
        past = count == 0 and server.phase == "ready"  # the bars of its start are older than what it says now
        self.view.extend([*bars, *lines] if past else [*lines, *bars])
        if server.older is not None and server.older is not self._older:
            self._older, self._forgot = server.older, False
            self.view.extend_back([_line(row) for row in server.older.rows])

    def on_log_view_older_wanted(self) -> None:
        """The user stands at the oldest line: read back from the box's file."""
        deck = deck_of(cast("Screen[None]", self.screen))
        if self._shown[0] and deck.session.controls:
            deck.session.controls.read_older_log(deck.host_name, self._shown[0], fresh=self._forgot)

    def on_log_view_follow_changed(self, event: LogView.FollowChanged) -> None:
        """Following forgets what was read back."""
        self._forgot = self._forgot or event.follow

    def _bar_lines(self, server: ServerState) -> list[LogLine]:
        """Each progress bar as one line that renews itself, to its last frame."""
        told, self._bars = self._bars, tuple(server.bars)
        return [
            LogLine(f"{bar.task or 'progress'} {bar.done}/{bar.total}", "debug", progress=bar.task or "progress")
            for bar in self._bars
            if bar not in told
        ]


def _line(row: LogRow | LogGap) -> LogLine:
    if isinstance(row, LogGap):
        return LogLine(gap_text(row), "debug")
    return LogLine(str(row.text), "" if row.level == "info" else row.level, str(row.rank), str(row.stamp)[11:])


class ServerScreen(SearchScreen):
    """Screen 5. The log has the keys from the start: it is what one scrolls here."""

    AUTO_FOCUS = "#server-log"

    def body(self) -> Iterable[Widget]:
        yield Vertical(ServerPane(), LogPane(), id="server-body")

    @property
    def searched(self) -> LogView:
        return self.query_one(LogView)
