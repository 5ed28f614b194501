"""Measurements as rows, lines and JSON: stored runs, comparisons, and the run in progress."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from console.bench.flags import FLAGS
from console.bench.lines import table
from console.bench.points import Point
from console.bench.presets import EXACT, spoken
from console.bench.report import shown
from console.bench.store import Listed, Manifest, Run, run_json
from console.events.bench import GreedyCompared
from console.state import HostState
from console.state.bench import BenchRun
from console.values import known, to_json


def matches(run: Run | Listed, words: Sequence[str]) -> bool:
    """Every word occurs in what names the run."""
    told = run.manifest
    text = " ".join((run.id, told.recipe, told.host, told.preset, told.sweep, told.source, run.mark)).lower()
    return all(word.lower() in text for word in words)


def flags_of(run: Run | Listed) -> list[str]:
    """The flags of a run in display order, each once."""
    raised = {flag for point in run.points for flag in point.flags}
    return [flag for flag in FLAGS if flag in raised]


def summary(run: Run | Listed) -> dict[str, Any]:
    """A run in a list."""
    told = run.manifest
    body: dict[str, Any] = to_json(
        {
            "id": run.id,
            "created": told.created,
            "source": told.source,
            "host": told.host,
            "recipe": told.recipe,
            "preset": told.preset,
            "sweep": told.sweep,
            "mark": run.mark,
            "points": len(run.points),
            "concurrency": sorted({point.concurrency for point in run.points}),
            "best_tok_s": run.best_tok_s,
            "flags": flags_of(run),
        }
    )
    return body


def list_rows(runs: Sequence[Run | Listed]) -> list[tuple[str, ...]]:
    """Mark, day and minute, recipe, host, preset, number of points, best rate, flags, id."""
    return [
        (
            run.mark or "",
            run.manifest.created[:16].replace("T", " "),
            run.manifest.recipe,
            run.manifest.host or run.manifest.source,
            run.manifest.preset,
            str(len(run.points)),
            shown(run.best_tok_s),
            " ".join(flags_of(run)),
            run.id,
        )
        for run in runs
    ]


LIST_HEAD = ("", "measured", "recipe", "host", "preset", "points", "best tok/s", "flags", "id")


def list_lines(runs: Sequence[Run | Listed]) -> list[str]:
    return table(LIST_HEAD, list_rows(runs)) if runs else ["No runs yet: `gpudeck bench HOST` measures one."]


SHOWN = 8
POINT_HEAD = ("C", "tok/s", "±", "/GPU", "/user", "TTFT p50 ms", "p95", "TPOT p50 ms", "accept", "flags")


def point_row(point: Point) -> tuple[str, ...]:
    """One point of a run: rates in tok/s, latencies in ms."""
    ci = point.output_tok_s_ci
    return (
        " ".join(filter(None, (str(point.concurrency), point.condition, f"r{point.repeat}" if point.repeat else ""))),
        shown(point.output_tok_s),
        shown((ci[1] - ci[0]) / 2) if known(ci) else "–",
        shown(point.tok_s_gpu),
        shown(point.user_tok_s),
        shown(point.ttft_ms.p50, 0),
        shown(point.ttft_ms.p95, 0),
        shown(point.tpot_ms.p50, 2),
        shown(point.accept_length, 2),
        " ".join(("aborted",) * point.aborted + point.flags),
    )


def run_lines(run: Run) -> list[str]:
    """A run for a terminal: its table, then why a point may not count."""
    lines = [f"{run.id}  {run.manifest.recipe}", *table(POINT_HEAD, [point_row(point) for point in run.points])]
    return lines + [f"  {line}" for line in cause_lines(run.points)]


def cause_lines(points: Sequence[Point]) -> list[str]:
    """Why points may not count: each sentence once, with the users at which it is true."""
    users: dict[tuple[str, str], list[int]] = {}
    for point in points:
        for flag, cause in zip(point.flags, point.causes, strict=False):
            users.setdefault((flag, cause), []).append(point.concurrency)
    return [
        f"{flag} at C = {', '.join(str(each) for each in sorted(set(at)))}: {cause}"
        for (flag, cause), at in sorted(users.items())
    ]


STEP_WORDS = {
    "calibrate": "measuring the client itself",
    "preflight": "asking the server",
    "flush": "emptying the prefix cache",
    "warmup": "warming up",
    "window": "measuring",
    "drain": "ending",
    "paused": "paused",
}


def progress_lines(row: Mapping[str, Any]) -> list[str]:
    """The worker's progress as narration; nothing for what is no news."""
    if row.get("k") == "state":
        return [f"{spoken(row['point'] or 'worker')}: {STEP_WORDS.get(row['state'], row['state'])}"]
    if row.get("k") == "tick" and row.get("state") in ("warmup", "window"):
        waiting = f", {row['queued']} wait" if row["queued"] else ""
        now = f"{row['tok_s']:.0f} tok/s, {row['active']} active{waiting}, {row['failed']} failed"
        return [f"{spoken(row['point'])}: {now}"]
    if row.get("k") == "calibration":
        return [f"client: {row['events_per_s']:.0f} events/s against its own mock at {row['cpu']:.0%} of a core"]
    return [f"{spoken(row['name'])}: {row['error'] or 'measured'}"] if row.get("k") == "point" else []


def compared(seen: BenchRun) -> list[dict[str, Any]]:
    """What the greedy answers of this run said, one object a comparison."""
    return [
        to_json(
            {
                "run": one.run, "recipe": one.recipe, "baseline": one.baseline, "prompts": one.prompts,
                "equal": one.prompts - len(one.different), "different": list(one.different), "exact": exact(one),
            }
        )
        for one in seen.compared
    ]  # fmt: skip


def exact(one: GreedyCompared) -> bool:
    """All answers equal, and enough of them."""
    return not one.different and one.prompts >= one.needed


def compared_lines(seen: BenchRun) -> list[str]:
    """The same as sentences; of an autoregressive run without counterparts, what it is good for."""
    if seen.began.preset != EXACT or seen.ended is None or not seen.points:
        return []
    if not seen.compared:
        how = "the same preset on a speculative server of this model, revision and version compares with them"
        return [f"These answers are kept as the autoregressive baseline: {how}."]
    return [_compared_line(one) for one in seen.compared]


def _compared_line(one: GreedyCompared) -> str:
    if not known(one.baseline):
        return f"Nothing to compare with: {one.baseline.reason}. Measure one with the same preset."
    said = f"{one.prompts - len(one.different)} of {one.prompts} greedy answers of {one.recipe} equal {one.baseline}'s"
    if not exact(one):
        few = f" ({one.needed} are needed)" if one.prompts < one.needed else ""
        which = ", ".join(map(str, one.different[:SHOWN])) + (", …" if len(one.different) > SHOWN else "")
        differ = f"; prompts {which} differ" if which else ""
        return f"{said}{few}{differ}. inexact_verification stays."
    if not one.pair:
        return f"{said}. The server was not started from a plan: its flag stays."
    return f"{said}: inexact_verification is lifted for exactly this target, drafter, version and these arguments."


def recorded_points(points: Iterable[Any]) -> tuple[Point, ...]:
    """Points of a recording; one that is none (a stranger's file) is left out."""
    found = []
    for point in points:
        with contextlib.suppress(msgspec.ValidationError):
            found.append(msgspec.convert(point, Point))
    return tuple(found)


def recorded_manifest(data: Any, run_id: str) -> Manifest:
    """The manifest of a recording; one that cannot be read leaves the id alone."""
    try:
        return msgspec.convert(data, Manifest)
    except msgspec.ValidationError:
        return Manifest(id=run_id, created="")


def recorded_run(seen: BenchRun) -> Run:
    """A run of the session as the store would give it."""
    return Run(recorded_manifest(seen.began.manifest, seen.began.run), recorded_points(seen.points))


def run_objects(host: HostState) -> list[dict[str, Any]]:
    """The runs of a box in this session, as `gpudeck.run/1` without schema and ts."""
    return [run_json(recorded_run(seen)) for seen in host.bench.runs.values()]
