"""The bench pane: the point in progress, the points so far, the curves; all from the recorded facts."""

from __future__ import annotations

from typing import NamedTuple

from console.bench import figures
from console.bench.figures import Figure, Line
from console.bench.presets import spoken
from console.bench.report import curves_of
from console.bench.speedup import curve
from console.bench.store import Run
from console.events.bench import BenchTicked
from console.state import HostState
from console.state.bench import BenchRun
from console.values import Unknown, format_duration, format_ratio, known
from console.views.bench import (
    STEP_WORDS,
    cause_lines,
    compared_lines,
    point_row,
    recorded_manifest,
    recorded_points,
    recorded_run,
)
from console.views.upset import unstored_sentence

LIVE_S = 300.0


class PointRow(NamedTuple):
    """One line of the table; `kind` ok, warn for flagged ones, fail for a point that failed."""

    key: str
    kind: str
    cells: tuple[str, ...]


def headline(run: BenchRun, now: float, util_pct: float | Unknown) -> list[tuple[str, str]]:
    """What happens now, as (text, ink). `util_pct`: of the box's GPUs, on average."""
    began = run.began
    done = len(run.points)
    lines = [(f"{began.recipe}  {began.preset}  {done} of {len(began.planned)} points", "strong")]
    if run.unstored is not None and run.ended is None:
        lines.append((unstored_sentence(run.unstored), "warn"))
    if run.ended is not None:
        text = run.ended.sentence
        told = (text, "warn") if text else (f"measured; stored as {began.run}", "ok")
        return [*lines, told, *((line, "") for line in compared_lines(run))]
    if run.step is not None:
        lasts = format_duration(now - run.step_t)
        lines.append((f"{spoken(run.step.point or 'worker')}: {STEP_WORDS[run.step.step]} for {lasts}", "busy"))
    if run.ticks:
        lines += _live(run.ticks[-1], util_pct)
    return lines


def utilisation(host: HostState | None) -> float | Unknown:
    """Mean utilisation in percent of the GPUs on which a process holds memory."""
    gpus = host.hardware.gpus if host else Unknown("no box")
    used = [gpu.gauges for gpu in gpus.values() if known(gpu.processes) and gpu.processes] if known(gpus) else []
    told = [gauges.util_pct for gauges in used if gauges is not None and known(gauges.util_pct)]
    return sum(told) / len(told) if told else Unknown("no GPU tells its utilisation")


def _live(tick: BenchTicked, util_pct: float | Unknown) -> list[tuple[str, str]]:
    """Client beside server, then the client's own health."""
    server = f"{_count(tick.server_running)} running, {_count(tick.server_queued)} queued"
    client = f"{tick.active} active" + (f", {tick.queued} wait here" if tick.queued else "")
    failed = f", {tick.failed} failed" if tick.failed else ""
    rates = f"client {tick.tok_s:,.0f} tok/s ({client}{failed})   server {_rate(tick.gen_tok_s)} ({server})"
    gpus = [f"{util_pct:.0f}%"] if known(util_pct) else []
    gpus += [f"{tick.power_w:.0f} W"] if known(tick.power_w) else []
    power = f"   GPUs {' '.join(gpus)}" if gpus else ""
    lag = format_duration(tick.lag_p99_s) if known(tick.lag_p99_s) else "unknown"
    health = f"KV {format_ratio(tick.kv_ratio)}{power}   client: {tick.cpu_ratio:.0%} of a core, loop lag {lag}"
    return [(rates, ""), (health, "dim")]


def _count(value: float | Unknown) -> str:
    return f"{value:.0f}" if known(value) else "?"


def _rate(value: float | Unknown) -> str:
    return f"{value:,.0f} tok/s" if known(value) else "unknown"


def point_rows(run: BenchRun) -> list[PointRow]:
    """Measured points in order, then those that failed."""
    points = recorded_points(run.points)
    rows = [PointRow(p.name, "ok" if p.counts else "warn", point_row(p)) for p in points]
    blank = ("–",) * (len(rows[0].cells) - 2 if rows else 8)
    return rows + [PointRow(name, "fail", (str(name), *blank, str(sentence))) for name, sentence in run.failed]


def causes(run: BenchRun) -> list[str]:
    """Why points may not count, each sentence once."""
    return cause_lines(recorded_points(run.points))


def live_figure(run: BenchRun) -> Figure:
    """Tokens per second of the client and of the server over the last minutes; a silence is a gap."""
    ticks = list(run.ticks)
    start = ticks[-1].elapsed_s - LIVE_S if ticks else 0.0
    recent = [tick for tick in ticks if tick.elapsed_s >= start]
    xs: list[float] = []
    client: list[float | None] = []
    server: list[float | None] = []
    for before, tick in zip([None, *recent], recent, strict=False):
        if before is not None and tick.elapsed_s - before.elapsed_s > 3:
            xs.append((tick.elapsed_s + before.elapsed_s) / 2)
            client.append(None)
            server.append(None)
        xs.append(tick.elapsed_s)
        client.append(tick.tok_s)
        server.append(tick.gen_tok_s if known(tick.gen_tok_s) else None)
    lines = [Line("client", tuple(xs), tuple(client), value=_last(client))]
    if any(value is not None for value in server):
        lines.append(Line("server's gauge", tuple(xs), tuple(server), value=_last(server)))
    return Figure("live", "Now", "s", "tok/s", tuple(lines))


def _last(values: list[float | None]) -> str:
    return f"{values[-1]:,.0f}" if values and values[-1] is not None else ""


def curve_figure(run: BenchRun) -> Figure:
    """Throughput against the load, point by point, over the ghost of the best earlier run."""
    return figures.throughput([recorded_run(run)], _earlier(run))


def curve_figures(run: BenchRun) -> list[Figure]:
    """All curves of a run that have a point, its throughput first; the speed-up where the earlier run grounds one."""
    now, earlier = recorded_run(run), _earlier(run)
    found = [figure for figure in curves_of([now]) if figure.name != "throughput"]
    gains = curve(earlier, now) if earlier else None
    if gains and gains.gains:
        found.append(figures.speed_up([(figures.label(now), gains)]))
    drafts = (figures.acceptance([now]), figures.accept_histogram([now]))
    return [curve_figure(run), *found, *(figure for figure in drafts if figure.lines)]


def _earlier(run: BenchRun) -> Run | None:
    ghost = run.earlier
    return Run(recorded_manifest(ghost.manifest, ""), recorded_points(ghost.points)) if ghost else None


def latest(host: HostState | None) -> BenchRun | None:
    return host.bench.latest if host else None
