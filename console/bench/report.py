"""What a report says, before it is written in a format: sections of sentences, tables and figures."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import msgspec

from console.bench import figures
from console.bench.comparable import HASH_KEYS
from console.bench.compare import Comparison, compare, estimate, groups
from console.bench.flags import FLAGS
from console.bench.points import Point
from console.bench.speedup import SpeedUpCurve, curve
from console.bench.stats import Number, mean, repeats
from console.bench.store import Run
from console.bench.throughput import knee
from console.values import Unknown, first_unknown, known
from console.values.secrets import redact

SLO_USER_TOK_S = 12.5
UNSTABLE = "unstable"
KNEE_POINTS = 5
_SECOND = len("2026-01-31T22:15:04")


class Table(msgspec.Struct, frozen=True):
    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


class Section(msgspec.Struct, frozen=True):
    title: str
    sentences: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[figures.Figure, ...] = ()
    commands: tuple[str, ...] = ()


class Report(msgspec.Struct, frozen=True):
    title: str
    sections: tuple[Section, ...]


def report(runs: Sequence[Run]) -> Report:
    """Setup, results, curves, acceptance, speed-up, comparisons, refused ones with their reasons, notes, commands."""
    names = figures.labels(runs)
    pairs = [compare(*pair) for pair in pairs_of(runs)]
    curves = [(name, curve(base, run)) for name, base, run in _with_baselines(runs, names)]
    title = f"Benchmark of {names[0]}" if len(runs) == 1 else f"Benchmark of {len(runs)} configurations"
    sections = [
        _setup(runs, names),
        *(_results(name, run) for name, run in zip(names, runs, strict=True)),
        Section("Curves", figures=tuple(curves_of(runs))),
        _acceptance(runs, names),
        _speed_up(curves),
        _comparisons([pair for pair in pairs if not pair.refused], runs, names),
        _refused([pair for pair in pairs if pair.refused], runs, names),
        Section("Notes", _notes(runs, names)),
        Section("Commands", commands=_commands(runs)),
    ]
    return Report(title, tuple(section for section in sections if _filled(section)))


def _notes(runs: Sequence[Run], names: list[str]) -> tuple[str, ...]:
    """What was noted of each run: while it was measured, behind it, and before it. One of several runs stands once."""
    about: dict[tuple[str, str], list[str]] = {}
    for name, run in zip(names, runs, strict=True):
        for note in run.notes:
            if note.text:
                place = f"before {name}" if note.t[:_SECOND] < run.manifest.created[:_SECOND] else name
                about.setdefault((note.t, note.text), []).append(place)
    return tuple(f"{t} {', '.join(places)}: {text}" for (t, text), places in sorted(about.items()))


def _commands(runs: Sequence[Run]) -> tuple[str, ...]:
    """How the servers were started and measured, each line once, without secrets."""
    told = [line for run in runs for line in (run.manifest.serves, run.manifest.command) if line]
    return tuple(dict.fromkeys(map(redact, told)))


def pairs_of(runs: Sequence[Run]) -> list[tuple[Run, Run]]:
    """Each against its sweep's baseline where there is one, else every pair in order."""
    found = [(base, run) for run in runs if (base := _baseline(run, runs)) is not None and base is not run]
    return found or list(combinations(runs, 2))


def _baseline(run: Run, runs: Sequence[Run]) -> Run | None:
    """The baseline of a run's sweep: with the same flags of the matrix before without, on the same data set first."""
    wanted = run.manifest.baseline
    names = (f"{wanted}+{run.manifest.recipe.partition('+')[2]}", wanted) if wanted else ()
    found = [one for one in runs if one.manifest.recipe in names]
    return min(found, key=lambda one: (_data(one) != _data(run), names.index(one.manifest.recipe)), default=None)


def _data(run: Run) -> Any:
    return run.manifest.load.get("dataset")


def _with_baselines(runs: Sequence[Run], names: list[str]) -> list[tuple[str, Run, Run]]:
    """Each run with a drafter and the autoregressive one that it is measured against."""
    plain = [run for run in runs if not run.manifest.drafter]
    found = []
    for name, run in zip(names, runs, strict=True):
        base = _baseline(run, plain) or min(plain, key=lambda one: _data(one) != _data(run), default=None)
        if run.manifest.drafter and base is not None:
            found.append((name, base, run))
    return found


def _filled(section: Section) -> bool:
    return bool(section.sentences or section.tables or section.figures or section.commands)


def text(value: Any) -> str:
    """A value of a manifest for a table."""
    return "unknown" if value is None else str(value)


def shown(value: Number, digits: int = 1) -> str:
    """A number, or `–` for unknown: tables give the reasons in the JSON."""
    return f"{value:.{digits}f}" if known(value) else "–"


def _setup(runs: Sequence[Run], names: list[str]) -> Section:
    told = {key for run in runs for part in (run.manifest.setup, run.manifest.treatment) for key in part}
    keys = sorted({*told, *HASH_KEYS})
    rows = []
    for key in keys:
        cells = [text(run.manifest.setup.get(key, run.manifest.treatment.get(key))) for run in runs]
        rows.append((key.replace("_", " "), *cells))
    machine = sorted({key for run in runs for key in run.manifest.machine})
    rows += [(key.replace("_", " "), *(text(run.manifest.machine.get(key)) for run in runs)) for key in machine]
    rows.append(("measured", *(run.manifest.created for run in runs)))
    remarks = dict.fromkeys(f"{run.manifest.source}: {remark}" for run in runs for remark in run.manifest.remarks)
    return Section("Setup", tuple(remarks), (Table("", ("", *names), tuple(rows)),))


RESULT_HEAD = (
    "C", "out tok/s", "±", "/GPU", "/user", "TTFT p50 ms", "p95", "TPOT p50 ms", "goodput/s", "accept", "J/token",
    "flags",
)  # fmt: skip


def _results(name: str, run: Run) -> Section:
    """One row a concurrency; ± is half the 95 % interval of the repeats, else of the window's batches."""
    rows = tuple(_result_row(key, points) for key, points in groups(run.points).items())
    used = [flag for flag in FLAGS if any(flag in point.flags for point in run.points)]
    causes = dict.fromkeys(
        f"{flag}: {cause}"
        for point in run.points
        for flag, cause in zip(point.flags, point.causes, strict=False)
        if flag in used
    )
    tables = [Table("", RESULT_HEAD, rows)] if rows else []
    if figures.open_loop(run):
        offered = tuple(_offered_row(points) for points in groups(run.points).values())
        tables.append(Table("From the schedule on, waiting included", OFFERED_HEAD, offered))
    return Section(f"Results: {name}", (*causes, *_knee(run)), tuple(tables))


OFFERED_HEAD = (
    "offered/s", "answered/s", "TTFT p50 ms", "p95", "p99", "E2E p50 ms", "p95", "p99", "goodput/s", "attained %",
)  # fmt: skip


def _offered_row(points: list[Point]) -> tuple[str, ...]:
    """Open loop: the clock of a request starts when it should have started."""
    latencies = [
        _mean([getattr(getattr(point, name), level) for point in points])
        for name in ("queued_ttft_ms", "queued_e2e_ms")
        for level in ("p50", "p95", "p99")
    ]
    attained = _average(points, "attainment_ratio")
    return (
        f"{points[0].offered:g}",
        shown(_average(points, "request_s"), 2),
        *(shown(value, 0) for value in latencies),
        shown(_average(points, "goodput_req_s"), 2),
        shown(100 * attained if known(attained) else attained),
    )


def _knee(run: Run) -> tuple[str, ...]:
    """Where more load stops to bring more tokens; said from five loads on."""
    found = [(points[0].offered, estimate(points, "tok_s")) for points in groups(run.points).values()]
    curve_points = [(x, y) for x, y in found if known(y)]
    if len({x for x, _ in curve_points}) < len(found) or len(found) < KNEE_POINTS:
        return ()
    at, unit = knee(curve_points), "offered requests/s" if figures.open_loop(run) else "users at once"
    return (f"The throughput bends at {at:g} {unit}." if known(at) else f"No knee: {at.reason}.",)


def _result_row(key: tuple[int, str], points: list[Point]) -> tuple[str, ...]:
    rates = [point.output_tok_s for point in points if known(point.output_tok_s)]
    seen = repeats(rates)
    interval = seen.ci if known(seen.ci) else points[0].output_tok_s_ci
    half: Number = (interval[1] - interval[0]) / 2 if known(interval) else Unknown("no interval")
    flags = [flag for flag in FLAGS if any(flag in point.flags for point in points)]
    return (
        " ".join(filter(None, (str(key[0]), key[1]))),
        shown(estimate(points, "tok_s")),
        shown(half),
        shown(estimate(points, "tok_s_gpu")),
        shown(estimate(points, "user_tok_s")),
        shown(estimate(points, "ttft_p50"), 0),
        shown(estimate(points, "ttft_p95"), 0),
        shown(estimate(points, "tpot_p50")),
        shown(_average(points, "goodput_req_s"), 2),
        shown(estimate(points, "accept_length"), 2),
        shown(_average(points, "energy_j_tok"), 2),
        ", ".join(flags + ([UNSTABLE] if seen.unstable else [])),
    )


def _average(points: list[Point], name: str) -> Number:
    return _mean([getattr(point, name) for point in points])


def _mean(values: list[Number]) -> Number:
    missing = first_unknown(*values)
    return mean([value for value in values if known(value)]) if missing is None else missing


def curves_of(runs: Sequence[Run]) -> list[figures.Figure]:
    """Every curve that these runs have something for; open and closed loop apart."""
    if not any(run.points for run in runs):
        return []
    drawn = [figures.speeds(runs, SLO_USER_TOK_S)]
    for scheduled in (False, True):
        chosen = [run for run in runs if figures.open_loop(run) is scheduled]
        drawn += [figures.throughput(chosen), *([figures.goodput(chosen)] if scheduled else [])] if chosen else []
        first = ("queued_ttft_ms", "queued_e2e_ms") if scheduled else ("ttft_ms",)
        drawn += [figures.latencies(run, which) for run in chosen for which in (*first, "itl_ms", "icl_ms")]
    return [
        figure for figure in drawn if any(y is not None for line in figure.lines for y in line.ys if not line.guide)
    ]


def _acceptance(runs: Sequence[Run], names: list[str]) -> Section:
    """Accept lengths per category of prompts, and the curve over positions where the server sends a histogram."""
    rows = []
    for name, run in zip(names, runs, strict=True):
        for (users, variant), points in groups(run.points).items():
            for category, seen in points[0].categories.items():
                if known(seen.accept_length):
                    at = " ".join(filter(None, (str(users), variant)))
                    rows.append((name, at, category or "all", shown(seen.accept_length, 2), str(seen.requests)))
    table = Table("", ("configuration", "C", "category", "accept length", "requests"), tuple(rows))
    drawn = (figures.acceptance(runs), figures.accept_histogram(runs))
    return Section("Acceptance", (), (table,) if rows else (), tuple(figure for figure in drawn if figure.lines))


def _speed_up(curves: list[tuple[str, SpeedUpCurve]]) -> Section:
    allowed = [(name, found) for name, found in curves if not found.refusals]
    sentences = [f"{name}: no speed-up, {'; '.join(found.refusals)}" for name, found in curves if found.refusals]
    rows = [
        (name, str(g.concurrency), shown(g.total, 2), _interval(g.ci), shown(g.per_user, 2), shown(g.accept_length, 2))
        for name, found in allowed
        for g in found.gains
    ]
    for name, found in allowed:
        crossing = f"below 1 from C={found.crossover}" if found.crossover is not None else "not below 1 to the end"
        sentences.append(f"{name}: {crossing}")
    head = ("configuration", "C", "by total time", "95 %", "per user", "accept length")
    figure = (figures.speed_up(allowed),) if rows else ()
    return Section("Speed-up", tuple(sentences), (Table("", head, tuple(rows)),) if rows else (), figure)


def _interval(ci: tuple[float, float] | Unknown) -> str:
    return f"{ci[0]:.2f} … {ci[1]:.2f}" if known(ci) else "–"


def _name(run_id: str, runs: Sequence[Run], names: list[str]) -> str:
    return next(name for name, run in zip(names, runs, strict=True) if run.id == run_id)


def _comparisons(pairs: list[Comparison], runs: Sequence[Run], names: list[str]) -> Section:
    tables = []
    for pair in pairs:
        rows = []
        for row in pair.rows:
            change = row.changes[0]
            percent = f"{change.rel:+.1%}" if known(change.rel) and row.verdict != "no verdict" else "–"
            at = " ".join(filter(None, (str(row.concurrency), row.variant)))
            rows.append((at, shown(change.a), shown(change.b), percent, row.verdict, row.why))
        title = f"{_name(pair.b, runs, names)} against {_name(pair.a, runs, names)}"
        tables.append(Table(title, ("C", "A tok/s", "B tok/s", "change", "verdict", "remark"), tuple(rows)))
    return Section("Comparisons", tables=tuple(tables))


def _refused(pairs: list[Comparison], runs: Sequence[Run], names: list[str]) -> Section:
    sentences = tuple(
        f"{_name(pair.b, runs, names)} against {_name(pair.a, runs, names)}: "
        + "; ".join((*pair.refusals, *[f"they differ also in {', '.join(pair.noted)}"] * bool(pair.noted)))
        for pair in pairs
    )
    return Section("Not compared", sentences)
