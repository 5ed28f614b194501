"""`gpudeck runs list|show|compare|export|import`: what was measured, without a box."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from console.bench.compare import METRICS, Comparison, compare, differences
from console.bench.lines import comparison_lines, diff_lines
from console.bench.store import MARKS, Manifest, Note, Run, RunError, RunStore, run_json
from console.cli.flags import Flags
from console.cli.output import emit, say, utc_now
from console.cli.stop import DONE, FAILED, GATE, THRESHOLD, USAGE, StopError
from console.config.paths import runs_dir, write_private
from console.values import gunzip, to_json
from console.views import bench as views

MOST_BYTES = 256 << 20  # of a result, unpacked
FORMATS = ("md", "html", "csv", "json", "latex")
_LIMITS_HELP = f"METRIC(<|>)±N[%], comma = or: exit 8 when B is beyond it. METRIC: {', '.join(METRICS)}."


@click.group("runs")
def command() -> None:
    """Stored runs: list, show, compare, export, import.

    A RUN is named by its id or the beginning of it, by its recipe (the newest one), or `last`.
    """


def store() -> RunStore:
    """The runs of this user."""
    return RunStore(runs_dir())


def found(runs: RunStore, words: str) -> Run:
    """A run by its id or the unambiguous beginning of it, by its recipe, or `last`."""
    try:
        return runs.find(words)
    except RunError as error:
        raise StopError(USAGE, f"{str(error)[:1].upper()}{str(error)[1:]}. `gpudeck runs list` names all.") from error


@command.command("list")
@click.argument("words", nargs=-1)
@click.pass_obj
def list_runs(flags: Flags, words: tuple[str, ...]) -> int:
    """All runs, newest first; WORDS filter over recipe, host, preset, sweep, mark and id."""
    found_runs, broken = store().listing()
    chosen = [run for run in found_runs if views.matches(run, words)]
    for name in broken:
        say(flags, f"{name} holds no run that can be read.")
    if flags.json_output:
        emit({"schema": "gpudeck.runs/1", "ts": utc_now(), "runs": [views.summary(run) for run in chosen]})
    elif found_runs and not chosen:
        click.echo(f"None of {len(found_runs)} runs has all of these words.")
    else:
        click.echo("\n".join(views.list_lines(chosen)))
    return DONE


@command.command("show")
@click.argument("run")
@click.pass_obj
def show(flags: Flags, run: str) -> int:
    """One run: its table, its flags with their causes."""
    chosen = found(store(), run)
    if flags.json_output:
        emit({"schema": "gpudeck.run/1", "ts": utc_now(), **run_json(chosen)})
    else:
        from console.bench.formats import markdown
        from console.bench.report import report

        click.echo(markdown(report([chosen])), nl=False)
    return DONE


@command.command("compare")
@click.argument("a")
@click.argument("b")
@click.option("--fail-if", "limits", metavar="EXPR", help=_LIMITS_HELP)
@click.option("--diff", is_flag=True, help="Every field in which the two manifests differ, too.")
@click.pass_obj
def compare_runs(flags: Flags, a: str, b: str, limits: str | None, diff: bool) -> int:
    """B against A. Runs that asked different questions are shown side by side, with the reason (exit 4)."""
    from console.bench.thresholds import ThresholdError, parse, violations

    try:
        thresholds = parse(limits) if limits is not None else ()
    except ThresholdError as error:
        raise StopError(USAGE, f"{error}.") from error
    runs = store()
    left, right = found(runs, a), found(runs, b)
    seen = compare(left, right)
    broken = violations(thresholds, seen) if not seen.refused else []
    changed = differences(left.manifest, right.manifest) if diff else {}
    if flags.json_output:
        emit({"schema": "gpudeck.comparison/1", "ts": utc_now(), **_comparison_json(seen, broken), "diff": changed})
    else:
        click.echo("\n".join([*comparison_lines(seen), *diff_lines(changed)]))
        for sentence in broken:
            say(flags, f"Beyond the limit: {sentence}")
    if seen.refused:
        say(flags, "Not compared: " + "; ".join(seen.refusals))
        return GATE
    return THRESHOLD if broken else DONE


def _comparison_json(seen: Comparison, broken: list[str]) -> dict[str, object]:
    body: dict[str, object] = to_json(seen)
    return {**body, "refused": seen.refused, "violations": broken}


@command.command("note")
@click.argument("run")
@click.argument("text", default="")
@click.option("--mark", type=click.Choice([mark for mark in MARKS if mark] + ["none"]), help="Mark the run.")
def note(run: str, text: str, mark: str | None) -> int:
    """Write a note to a run, or mark it."""
    if not text and mark is None:
        raise StopError(USAGE, "Say a text or --mark.")
    runs = store()
    runs.add_note(found(runs, run).id, Note(utc_now(), text, "" if mark == "none" else mark))
    return DONE


@command.command("export")
@click.argument("runs", nargs=-1, required=True)
@click.option("--format", "kind", type=click.Choice(FORMATS), required=True)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="A directory.")
@click.pass_obj
def export(flags: Flags, runs: tuple[str, ...], kind: str, out: Path) -> int:
    """Runs, or a whole sweep by its name, as a report in DIR."""
    chosen = _chosen(store(), runs)
    name = {"md": "report.md", "html": "report.html", "csv": "points.csv", "json": "runs.json", "latex": "report.tex"}
    target = out / name[kind]
    try:
        write_private(target, rendered(chosen, kind).encode())
    except OSError as error:
        raise StopError(FAILED, f"{target} cannot be written: {error.strerror}.") from error
    say(flags, f"{len(chosen)} run{'s' if len(chosen) != 1 else ''} in {target}.")
    if flags.json_output:
        emit({"schema": "gpudeck.export/1", "ts": utc_now(), "path": str(target), "runs": [run.id for run in chosen]})
    return DONE


def _chosen(runs: RunStore, words: Sequence[str]) -> list[Run]:
    """Runs by id, or all runs of a sweep; each once, in the order of naming."""
    chosen: dict[str, Run] = {}
    for word in words:
        for run in swept(runs, word) or [found(runs, word)]:
            chosen[run.id] = run
    return list(chosen.values())


def swept(runs: RunStore, sweep: str) -> list[Run]:
    """The runs of a sweep, by its name or its id; what was measured in several goes with one data set is one run."""
    whole: dict[tuple[str, Any], Run] = {}
    for run in reversed(runs.runs()):
        told = run.manifest
        if not told.sweep or sweep not in (told.sweep, told.sweep.partition("@")[0]):
            continue
        key = told.recipe, told.load.get("dataset")
        first = whole.get(key)
        whole[key] = Run(first.manifest, first.points + run.points, first.notes + run.notes) if first else run
    return list(whole.values())


def rendered(runs: Sequence[Run], kind: str) -> str:
    """The report of the runs in a format."""
    from console.bench import formats
    from console.bench.report import report

    if kind == "csv":
        return formats.table_csv(runs)
    if kind == "json":
        return formats.document_json(runs, utc_now())
    made = report(runs)
    if kind == "html":
        from console.screens.charts import chart_of
        from widgets.chart_svg import to_svg

        return formats.web_page(made, lambda figure: to_svg(chart_of(figure)))
    return formats.latex(made) if kind == "latex" else formats.markdown(made)


@command.command("import")
@click.argument("file", type=click.Path(dir_okay=False, exists=True, path_type=Path))
@click.option("--recipe", default="", metavar="NAME", help="The configuration that was measured.")
@click.pass_obj
def import_run(flags: Flags, file: Path, recipe: str) -> int:
    """A result of SGLang, vLLM, GuideLLM or AIPerf as a run."""
    from console.bench.importers import import_file

    with file.open("rb") as stream:  # a pipe, too
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise StopError(FAILED, f"{file} is larger than {MOST_BYTES >> 20} MiB.")
    try:
        seen = import_file(gunzip(data, MOST_BYTES) if data[:2] == b"\x1f\x8b" else data, file.name)
    except ValueError as error:
        raise StopError(FAILED, f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    now = utc_now()
    stem = "".join(c if c.isalnum() or c in "._-" else "-" for c in file.stem)[:60]
    manifest = Manifest(
        id=f"{now[:19].replace(':', '').replace('-', '')}Z-{seen.source}-{stem}-{secrets.token_hex(2)}",
        created=now, source=seen.source, recipe=recipe or file.stem, setup=seen.setup, treatment=seen.treatment,
        drafter=bool(seen.treatment.get("speculative")), remarks=seen.remarks,
    )  # fmt: skip
    runs = store()
    runs.create(manifest)
    for point in seen.points:
        runs.add_point(manifest.id, point)
    for remark in seen.remarks:
        say(flags, f"{remark[:1].upper()}{remark[1:]}.")
    if flags.json_output:
        emit({"schema": "gpudeck.run/1", "ts": now, **run_json(runs.load(manifest.id))})
    else:
        click.echo(manifest.id)
    return DONE
