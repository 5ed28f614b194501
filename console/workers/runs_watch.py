"""Lists the stored runs for the screen, and again whenever the store changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from console.bench.compare import compare, differences, refusal_reasons
from console.bench.flags import FLAGS
from console.bench.lines import comparison_lines, diff_lines
from console.bench.store import Run, RunStore
from console.events import Event
from console.events.bench import RunsListed, StoredRun
from console.values import CleanText, clean

LOOK_S = 1.0
LISTED = 200
COMPARED = 50
BASELINE = "baseline"


class RunsWatch:
    """Watches one store; `publish` tells the facts."""

    def __init__(self, runs: Path, publish: Callable[[Event], None]) -> None:
        self._store, self._publish = RunStore(runs), publish
        self._seen: object = None

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            stamp = await asyncio.to_thread(self._stamp)
            if stamp != self._seen:
                self._seen = stamp
                self._publish(await asyncio.to_thread(self._listed))
            await asyncio.sleep(LOOK_S)

    def _stamp(self) -> object:
        """What changes when a run, a point or a note is added."""
        root = self._store.root
        files = [path for entry in root.glob("*") for path in (entry / "points.jsonl", entry / "notes.jsonl", entry)]
        return tuple((str(path), path.stat().st_mtime_ns) for path in sorted(files) if path.exists())

    def _listed(self) -> RunsListed:
        runs = self._store.runs()
        rows = [row(run, against(run, runs) if i < COMPARED else None) for i, run in enumerate(runs[:LISTED])]
        return RunsListed(runs=tuple(rows), older=len(runs[LISTED:]))


def against(run: Run, runs: Sequence[Run]) -> Run | None:
    """What a run is compared with: the one marked as baseline that may be compared, else the one before it."""
    older = [one for one in runs if one.manifest.created < run.manifest.created]
    fitting = [one for one in older if not refusal_reasons(one.manifest, run.manifest)]
    marked = [one for one in fitting if one.mark == BASELINE]
    return next(iter(marked or fitting or older), None)


def row(run: Run, other: Run | None) -> StoredRun:
    told = run.manifest
    raised = {flag for point in run.points for flag in point.flags}
    return StoredRun(
        id=clean(run.id),
        created=clean(told.created),
        recipe=clean(told.recipe),
        host=clean(told.host or told.source),
        preset=clean(told.preset),
        sweep=clean(told.sweep),
        mark=clean(run.mark),
        points=len(run.points),
        best_tok_s=run.best_tok_s,
        flags=tuple(CleanText(flag) for flag in FLAGS if flag in raised),
        notes=tuple(clean(note.text) for note in run.notes if note.text),
        against=clean(other.id) if other else CleanText(""),
        comparison=tuple(map(clean, _compared(other, run))) if other else (),
    )


def _compared(other: Run, run: Run) -> list[str]:
    """The comparison, then what else differs in the manifests; the treatment is its legend already."""
    rest = differences(other.manifest, run.manifest)
    changed = {name: sides for name, sides in rest.items() if not name.startswith("treatment.")}
    return [*comparison_lines(compare(other, run)), *diff_lines(changed)]
