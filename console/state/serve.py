"""The slice of a box's servers: everything known of each, the ended ones too, the newest last."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from console.events import serve as facts
from console.events.jobs import Job
from console.state.reducer import HostReducers
from console.values import CleanText, Unknown, known

if TYPE_CHECKING:
    from console.state.model import HostState

LOG_LINES = 5000
GAUGE_RING = 300
BARS_KEPT = 8
ENDED_KEPT = 8
ENDED = ("stopped", "crashed")
SERVE_JOB = "serve"
ENDED_EXPLAINED = 2


class LogGap(NamedTuple):
    """What stands in the box's file alone, before the line of that number (of those told, from 0)."""

    before: int
    lines: int
    bytes: int


@dataclass
class ServerState:
    """One server. `seen` is None before the box lists it, and stays what it was once it is gone."""

    id: CleanText
    seen: facts.Server | None = None
    present: bool = False
    looked: bool = False
    phase: facts.ServerPhase = "spawn"
    phase_t: float = 0.0
    phases: list[tuple[facts.ServerPhase, bool, float]] = field(default_factory=list)
    progress: facts.ServerProgressed | None = None
    bars: deque[facts.ServerProgressed] = field(default_factory=lambda: deque(maxlen=BARS_KEPT))
    log: deque[facts.LogRow] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    log_count: int = 0
    log_untold: int = 0  # lines that are in the box's file alone
    log_gaps: deque[LogGap] = field(default_factory=lambda: deque(maxlen=LOG_LINES))
    log_marks: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=LOG_LINES))  # told and untold lines
    older: facts.ServerLogFetched | None = None
    measured: facts.ServerMeasured | None = None
    proved: facts.ServerProved | None = None
    unproved: CleanText = CleanText("")
    gauges: facts.ServerGauged | None = None
    gauges_t: float = 0.0
    rates: deque[float] = field(default_factory=lambda: deque(maxlen=GAUGE_RING))
    smoke: facts.ServerSmoked | None = None
    compared: facts.ServerCompared | None = None
    ended: facts.ServerEnded | None = None
    ended_t: float = 0.0
    stop: facts.ServerStopAsked | None = None
    memory: facts.MemoryReturned | None = None


@dataclass
class Serve:
    """The servers by id. `listed` is what the box lists now; Unknown says why it cannot."""

    servers: dict[str, ServerState] = field(default_factory=dict)
    listed: tuple[CleanText, ...] | Unknown = field(default_factory=lambda: Unknown("not sampled yet"))
    quiet: set[int | None] = field(default_factory=set)
    deploy: facts.DeployStepped | None = None
    failed: facts.ServerRequestFailed | None = None
    tunnel: facts.TunnelChanged | None = None

    def is_quiet(self, server: ServerState) -> bool:
        """Whether it is being measured: ports are quiet, None means all."""
        return None in self.quiet or (server.seen is not None and server.seen.port in self.quiet)


def last_ended(host: HostState) -> list[Job]:
    """The last server jobs, when they ended: their ends are explained even when nobody watched."""
    jobs = host.jobs.jobs
    ours = [job for job in jobs if job.kind == SERVE_JOB] if known(jobs) else []
    ours.sort(key=lambda job: job.created_s, reverse=True)
    return [job for job in ours[:ENDED_EXPLAINED] if job.state != "running"]


def _server(host: HostState, name: CleanText) -> ServerState:
    serve = host.serve
    if name not in serve.servers:
        serve.servers[name] = ServerState(name)
    return serve.servers[name]


def _sampled(host: HostState, event: facts.ServersSampled, t: float) -> None:
    serve = host.serve
    if not known(event.servers):
        serve.listed = event.servers
        return
    serve.listed = tuple(one.id for one in event.servers)
    for one in event.servers:
        server = _server(host, one.id)
        if server.seen is None:
            server.phase, server.phase_t = "imports", t
        server.seen, server.present = one, True
    for name, server in serve.servers.items():
        if name not in serve.listed:
            server.present = False
    _forget(serve)


def _forget(serve: Serve) -> None:
    """Keep the last few that ended."""
    ended = [name for name, server in serve.servers.items() if server.phase in ENDED and not server.present]
    for name in ended[:-ENDED_KEPT]:
        del serve.servers[name]


def _logged(host: HostState, event: facts.ServerLogged, _t: float) -> None:
    server = _server(host, event.server)
    if event.offset >= 0:
        server.log_marks.append((server.log_count + server.log_untold, event.offset))
    for at, lines in event.untold:
        server.log_untold += lines
        _gap(server, LogGap(server.log_count + at, lines, 0))
    if event.skipped_bytes:
        _gap(server, LogGap(server.log_count, 0, event.skipped_bytes))
    server.log.extend(event.rows)
    server.log_count += len(event.rows)


def _gap(server: ServerState, gap: LogGap) -> None:
    """One gap before a line, however often it grew."""
    if server.log_gaps and server.log_gaps[-1].before == gap.before:
        last = server.log_gaps.pop()
        gap = LogGap(gap.before, last.lines + gap.lines, last.bytes + gap.bytes)
    server.log_gaps.append(gap)


def _fetched(host: HostState, event: facts.ServerLogFetched, _t: float) -> None:
    _server(host, event.server).older = event


def older_end(server: ServerState, *, fresh: bool) -> tuple[int, int]:
    """Where in the file the lines end that stand before those on screen, and how many of their last are there already.

    `fresh`: what was read back before is not on screen any more.
    """
    if server.older is not None and not fresh:
        return server.older.offset, 0
    first = server.log_count - len(server.log)
    inside = sum(gap.lines for gap in server.log_gaps if gap.before > first)
    line = server.log_count + server.log_untold - len(server.log) - inside
    marks = [mark for mark in server.log_marks if mark[0] >= line] or [(line, 0)]
    number, offset = marks[0]
    if number == line:  # behind what was left out here, if anything was
        offset = [where for at, where in marks if at == number][-1]
    return offset, number - line


def _phase(host: HostState, event: facts.ServerPhaseReached, t: float) -> None:
    server = _server(host, event.server)
    if server.phase not in ("ready", "stopping", *ENDED):
        _enter(server, event.phase, t - event.in_phase_s, event.draft)
        return
    late = (event.phase, event.draft, t - event.in_phase_s)  # the log came behind the proof
    at = next((at for at, (phase, _, _) in enumerate(server.phases) if phase == "ready"), len(server.phases))
    server.phases.insert(at, late)


def _enter(server: ServerState, phase: facts.ServerPhase, t: float, draft: bool = False) -> None:
    server.phase, server.phase_t, server.progress = phase, t, None
    server.phases.append((phase, draft, t))


def _progressed(host: HostState, event: facts.ServerProgressed, _t: float) -> None:
    server = _server(host, event.server)
    server.progress = event
    if server.bars and server.bars[-1].task == event.task:
        server.bars.pop()
    server.bars.append(event)


def _measured(host: HostState, event: facts.ServerMeasured, _t: float) -> None:
    _server(host, event.server).measured = event


def _proved(host: HostState, event: facts.ServerProved, t: float) -> None:
    server = _server(host, event.server)
    server.proved, server.unproved = event, CleanText("")
    if server.phase not in ("ready", "stopping", *ENDED):
        _enter(server, "ready", t)


def _unproved(host: HostState, event: facts.ServerUnproved, _t: float) -> None:
    _server(host, event.server).unproved = event.sentence


def _gauged(host: HostState, event: facts.ServerGauged, t: float) -> None:
    server = _server(host, event.server)
    server.gauges, server.gauges_t = event, t
    if known(event.gen_tok_s) and not event.stale:
        server.rates.append(event.gen_tok_s)


def _looked(host: HostState, event: facts.ServerLooked, _t: float) -> None:
    _server(host, event.server).looked = True


def _smoked(host: HostState, event: facts.ServerSmoked, _t: float) -> None:
    _server(host, event.server).smoke = event


def _compared(host: HostState, event: facts.ServerCompared, _t: float) -> None:
    _server(host, event.server).compared = event


def _ended(host: HostState, event: facts.ServerEnded, t: float) -> None:
    server = _server(host, event.server)
    server.ended, server.ended_t = event, t
    _enter(server, event.phase, t)


def _stop_asked(host: HostState, event: facts.ServerStopAsked, t: float) -> None:
    server = _server(host, event.server)
    server.stop = event
    if server.phase not in ENDED:
        _enter(server, "stopping", t)


def _memory(host: HostState, event: facts.MemoryReturned, _t: float) -> None:
    _server(host, event.server).memory = event


def _deploy(host: HostState, event: facts.DeployStepped, _t: float) -> None:
    host.serve.deploy = event


def _failed(host: HostState, event: facts.ServerRequestFailed, t: float) -> None:
    host.serve.failed = event
    server = _server(host, event.server)
    if event.action == "stop" and server.phase == "stopping":  # it was refused: the server is what it was
        server.stop = None
        before = [phase for phase, _, _ in server.phases if phase != "stopping"]
        _enter(server, before[-1] if before else "imports", t)


def _tunnel(host: HostState, event: facts.TunnelChanged, _t: float) -> None:
    host.serve.tunnel = event


def _quiet(host: HostState, event: facts.BenchmarkQuiet, _t: float) -> None:
    (host.serve.quiet.add if event.quiet else host.serve.quiet.discard)(event.port)


REDUCERS: HostReducers = {
    facts.ServersSampled: _sampled,
    facts.ServerLogged: _logged,
    facts.ServerLogFetched: _fetched,
    facts.ServerPhaseReached: _phase,
    facts.ServerProgressed: _progressed,
    facts.ServerMeasured: _measured,
    facts.ServerProved: _proved,
    facts.ServerUnproved: _unproved,
    facts.ServerGauged: _gauged,
    facts.ServerLooked: _looked,
    facts.ServerSmoked: _smoked,
    facts.ServerCompared: _compared,
    facts.ServerEnded: _ended,
    facts.ServerStopAsked: _stop_asked,
    facts.MemoryReturned: _memory,
    facts.DeployStepped: _deploy,
    facts.ServerRequestFailed: _failed,
    facts.TunnelChanged: _tunnel,
    facts.BenchmarkQuiet: _quiet,
}
