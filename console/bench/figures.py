"""The curves of reports and screens as plain data: who draws them is decided elsewhere.

Flagged points stay in their curve and are marked (hollow). An unknown is a gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from console.bench.compare import estimate, groups, values
from console.bench.flags import blocking
from console.bench.points import Point
from console.bench.speedup import SpeedUpCurve
from console.bench.stats import Number, repeats
from console.bench.store import Run
from console.bench.throughput import pareto
from console.values import known

MaybeFloat = float | None
Curve = tuple[float, MaybeFloat, MaybeFloat, MaybeFloat, bool]


class Line(msgspec.Struct, frozen=True):
    """A named curve: xs ascending, ys with None for a gap, ends of 95 % bars, indices of flagged points.

    `guide`: no measurement, a line to read the others by. `labels`: a word for each point.
    """

    name: str
    xs: tuple[float, ...]
    ys: tuple[MaybeFloat, ...]
    lows: tuple[MaybeFloat, ...] = ()
    highs: tuple[MaybeFloat, ...] = ()
    flagged: frozenset[int] = frozenset()
    ghost: bool = False
    joined: bool = True
    value: str = ""
    guide: bool = False
    labels: tuple[str, ...] = ()


class Figure(msgspec.Struct, frozen=True):
    """`levels`: horizontal lines by label."""

    name: str
    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    log_x: bool = False
    log_y: bool = False
    levels: tuple[tuple[float, str], ...] = ()


def label(run: Run) -> str:
    return run.manifest.recipe or run.id


def labels(runs: Sequence[Run]) -> list[str]:
    """Recipe names; where two share one, with the data set, or with the run's id."""
    names = [label(run) for run in runs]
    by_data = _told_apart(names, [str(run.manifest.load.get("dataset") or run.id) for run in runs])
    return by_data if len({*by_data}) == len(runs) else _told_apart(names, [run.id for run in runs])


def _told_apart(names: list[str], more: list[str]) -> list[str]:
    return [name if names.count(name) == 1 else f"{name} {word}" for name, word in zip(names, more, strict=True)]


def throughput(runs: Sequence[Run], ghost: Run | None = None) -> Figure:
    """Output tokens per second against the load, with 95 % bars, over the ghost of an earlier run."""
    lines = [_line(name, run, "tok_s") for name, run in zip(labels(runs), runs, strict=True)]
    if ghost is not None:
        lines.append(msgspec.structs.replace(_line(f"before: {label(ghost)}", ghost, "tok_s"), ghost=True))
    return _over_load("throughput", "Output throughput", "output tok/s", lines, runs[0])


def speeds(runs: Sequence[Run], slo_user_tok_s: Number) -> Figure:
    """Tokens per second and GPU against tokens per second and user, with the frontier and the SLO."""
    lines: list[Line] = []
    candidates: list[tuple[str, float, float]] = []
    for name, run in zip(labels(runs), runs, strict=True):
        pairs = [
            (estimate(points, "user_tok_s"), estimate(points, "tok_s_gpu"), _spoiled(points), _load_of(points[0]))
            for points in groups(run.points).values()
        ]
        ready = sorted((x, y, bad, users) for x, y, bad, users in pairs if known(x) and known(y))
        xs, ys, spoiled, users = zip(*ready, strict=True) if ready else ((), (), (), ())
        bad = frozenset(i for i, flagged in enumerate(spoiled) if flagged)
        lines.append(Line(name, xs, ys, flagged=bad, joined=False, labels=users))
        candidates += [(f"{x!r} {y!r}", x, y) for x, y, flagged, _ in ready if not flagged]
    best = sorted((float(x), float(y)) for x, y in (text.split() for text in pareto(candidates)))
    if len(best) > 1:
        corners = [best[0], *(corner for (x, _), (x2, y2) in pairwise(best) for corner in ((x, y2), (x2, y2)))]
        lines.append(Line("frontier", tuple(x for x, _ in corners), tuple(y for _, y in corners), guide=True))
    if known(slo_user_tok_s):
        top = max((y for line in lines for y in line.ys if y is not None), default=1.0)
        limit = (slo_user_tok_s, slo_user_tok_s)
        lines.append(Line(f"SLO {slo_user_tok_s:g} tok/s/user", limit, (0.0, top), guide=True))
    return Figure("speeds", "Per GPU against per user", "tok/s/user", "output tok/s/GPU", tuple(lines))


def latencies(run: Run, which: str) -> Figure:
    """Percentiles of `ttft_ms`, `itl_ms`, `icl_ms`, or from the schedule on of `queued_…_ms`, against the load."""
    lines = [_plain(run, which, level) for level in ("p50", "p95", "p99")]
    title = {
        "ttft_ms": "Time to first token",
        "itl_ms": "Time per token (spread)",
        "icl_ms": "Time between events",
        "queued_ttft_ms": "Time to first token, waiting included",
        "queued_e2e_ms": "End to end, waiting included",
    }[which]
    figure = _over_load(which.removesuffix("_ms"), f"{title}: {label(run)}", "ms", lines, run)
    return msgspec.structs.replace(figure, log_y=True)


def speed_up(curves: Sequence[tuple[str, SpeedUpCurve]]) -> Figure:
    """Speed-up over the baseline against the concurrency, with the line at 1 and the crossover in the legend."""
    lines = []
    for name, curve in curves:
        shown = [gain for gain in curve.gains if known(gain.total)]
        bounds = [gain.ci if known(gain.ci) else (None, None) for gain in shown]
        cross = f"below 1 from C={curve.crossover}" if curve.crossover is not None else "never below 1"
        lines.append(
            Line(
                name,
                tuple(float(gain.concurrency) for gain in shown),
                tuple(gain.total if known(gain.total) else None for gain in shown),
                tuple(low for low, _ in bounds),
                tuple(high for _, high in bounds),
                value=cross,
            )
        )
    figure = Figure("speedup", "Speed-up over the baseline", "concurrency", "×", tuple(lines), log_x=True)
    return msgspec.structs.replace(figure, levels=((1.0, "no gain"),))


def acceptance(runs: Sequence[Run]) -> Figure:
    """P(at least j drafts accepted) against the position j, at the lowest concurrency that knows it."""
    lines = []
    for name, run in zip(labels(runs), runs, strict=True):
        point = next((p for p in run.points if known(p.accepted_per_position)), None)
        if point is not None and known(point.accepted_per_position):
            xs = tuple(float(i + 1) for i in range(len(point.accepted_per_position)))
            length = f"length {point.accept_length:.2f}" if known(point.accept_length) else ""
            lines.append(Line(name, xs, point.accepted_per_position, value=length))
    return Figure("acceptance", "Acceptance per position", "draft position", "share accepted", tuple(lines))


def accept_histogram(runs: Sequence[Run]) -> Figure:
    """Share of verify steps that accepted exactly i drafts, from the same curve: P(≥ i) - P(≥ i + 1)."""
    lines = []
    for line in acceptance(runs).lines:
        at_least = [1.0, *(y or 0.0 for y in line.ys), 0.0]
        exact = tuple(a - b for a, b in pairwise(at_least))
        lines.append(Line(line.name, tuple(float(i) for i in range(len(exact))), exact, value=line.value))
    return Figure("accept_histogram", "Accepted drafts per step", "accepted drafts", "share of steps", tuple(lines))


def goodput(runs: Sequence[Run]) -> Figure:
    """Requests a second that met all limits against those offered; open loop alone."""
    lines = []
    for name, run in zip(labels(runs), runs, strict=True):
        rows = [(points[0].offered, _average(points, "goodput_req_s")) for points in groups(run.points).values()]
        bad = [_spoiled(points) for points in groups(run.points).values()]
        lines.append(_from_rows(name, [(x, y, None, None, spoiled) for (x, y), spoiled in zip(rows, bad, strict=True)]))
    return _over_load("goodput", "Goodput", "good requests/s", lines, runs[0])


def _average(points: list[Point], name: str) -> MaybeFloat:
    found = [getattr(point, name) for point in points]
    return sum(found) / len(found) if all(known(value) for value in found) else None


def open_loop(run: Run) -> bool:
    """Requests arrive by a schedule."""
    return any(known(point.rate) for point in run.points)


def _load_of(point: Point) -> str:
    return f"{point.rate:g}/s" if known(point.rate) else f"C={point.concurrency}"


def _over_load(name: str, title: str, unit: str, lines: list[Line], run: Run) -> Figure:
    """`run`: one of those drawn; open and closed loop are never in one figure."""
    return Figure(
        name, title, "offered requests/s" if open_loop(run) else "concurrency", unit, tuple(lines), log_x=True
    )


def _spoiled(points: list[Point]) -> bool:
    return any(blocking(point.flags) for point in points)


def _line(name: str, run: Run, metric: str) -> Line:
    rows: list[Curve] = []
    for points in groups(run.points).values():
        middle = estimate(points, metric)
        seen = repeats(values(points, metric))
        interval = seen.ci if known(seen.ci) else points[0].output_tok_s_ci if len(points) == 1 else seen.ci
        low, high = interval if known(interval) else (None, None)
        rows.append((points[0].offered, middle if known(middle) else None, low, high, _spoiled(points)))
    return _from_rows(name, rows)


def _plain(run: Run, which: str, level: str) -> Line:
    rows: list[Curve] = []
    for points in groups(run.points).values():
        levels: list[Number] = [getattr(getattr(point, which), level) for point in points]
        found = [value for value in levels if known(value)]
        middle = sum(found) / len(found) if found else None
        rows.append((points[0].offered, middle, None, None, _spoiled(points)))
    return _from_rows(level, rows)


def _from_rows(name: str, rows: list[Curve]) -> Line:
    xs, ys, lows, highs, bad = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return Line(name, xs, ys, lows, highs, frozenset(i for i, flag in enumerate(bad) if flag))
