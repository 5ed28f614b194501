"""A finished run of greedy answers is compared with its counterparts, and what came out is kept for gate and flag."""

from __future__ import annotations

import contextlib

from console.bench.exactness import ONCE, answers, compare, counterparts
from console.bench.store import Manifest, RunError, RunStore
from console.config.exactness import EXACT_PROMPTS, Exactness, remember_exactness
from console.events.bench import GreedyCompared
from console.values import CleanText, Unknown, clean, gunzip

MAX_BYTES = 1 << 30  # of the requests of a point, unpacked
NO_BASELINE = Unknown("no autoregressive run of this model, revision and version is stored for this box")


def compare_answers(store: RunStore, run_id: str, job: CleanText) -> list[GreedyCompared]:
    """One fact a comparison; one that says so for a speculative run that has no baseline yet. Blocks.

    Raises RunError, OSError.
    """
    told = store.load(run_id).manifest
    if told.setup.get("load_mode") != ONCE or not (own := _answers(store, run_id)):
        return []
    others = counterparts(told, [one.manifest for one in store.listing()[0]])
    if told.drafter and not others:
        return [_fact(told, job, Unknown(NO_BASELINE.reason), 0, ())]
    return [_compared(store, told, other, own, job) for other in others]


def _compared(store: RunStore, told: Manifest, other: Manifest, own: dict[int, str], job: CleanText) -> GreedyCompared:
    spec, base = (told, other) if told.drafter else (other, told)
    seen = compare(own, _answers(store, other.id))
    if spec.pair:
        kept = Exactness(run=spec.id, baseline=base.id, prompts=seen.prompts, equal=seen.equal)
        with contextlib.suppress(OSError):  # the flag stays until the comparison can be kept
            remember_exactness(spec.host, spec.pair, kept)
    return _fact(spec, job, clean(base.id), seen.prompts, seen.different)


def _fact(
    spec: Manifest, job: CleanText, baseline: CleanText | Unknown, prompts: int, different: tuple[int, ...]
) -> GreedyCompared:
    return GreedyCompared(
        host=spec.host, job=job, run=clean(spec.id), recipe=clean(spec.recipe), baseline=baseline,
        prompts=prompts, different=different, needed=EXACT_PROMPTS, pair=clean(spec.pair),
    )  # fmt: skip


def _answers(store: RunStore, run_id: str) -> dict[int, str]:
    """Of its first point; none when its file is not there or damaged."""
    found: dict[int, str] = {}
    with contextlib.suppress(RunError, OSError, ValueError, KeyError, IndexError, EOFError):
        name = store.load(run_id).points[0].name
        found = answers(gunzip(store.file(run_id, f"{name}.ndjson.gz"), MAX_BYTES).splitlines())
    return found
