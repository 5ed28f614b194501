"""Greedy answers of a speculative server against those of the autoregressive one: which runs, and which prompts.

Both asked the same prompts once, one at a time, at temperature 0 (preset `exact`); the worker keeps a hash of each
answer. Verification that is exact gives the same text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from console.bench.comparable import refusals
from console.bench.store import Manifest

ONCE = "once"


class Comparison(msgspec.Struct, frozen=True):
    """Prompts that both answered, and the numbers (from 1) of those with different answers."""

    prompts: int
    different: tuple[int, ...]

    @property
    def equal(self) -> int:
        return self.prompts - len(self.different)


def answers(lines: Iterable[bytes]) -> dict[int, str]:
    """Prompt → hash of its answer, from a worker's requests; without those that failed or were cut."""
    rows = (msgspec.json.decode(line) for line in lines if line.strip())
    return {row["i"]: row["said"] for row in rows if row.get("said") and not (row["error"] or row["cut"])}


def compare(baseline: dict[int, str], other: dict[int, str]) -> Comparison:
    both = sorted(baseline.keys() & other.keys())
    return Comparison(len(both), tuple(number for number in both if baseline[number] != other[number]))


def counterparts(told: Manifest, others: Sequence[Manifest]) -> tuple[Manifest, ...]:
    """What a run of answers is compared with: the same questions to the same model in the same version on the same box,
    with a drafter on one side. The newest baseline; for a baseline, the newest run of each pair."""
    found: dict[str, Manifest] = {}
    for other in sorted(others, key=lambda one: (one.created, one.id), reverse=True):
        if _comparable(told, other):
            found.setdefault("" if told.drafter else other.pair or other.recipe, other)
    return tuple(found.values())


def _comparable(told: Manifest, other: Manifest) -> bool:
    versions = told.treatment.get("version"), other.treatment.get("version")
    return (
        told.setup.get("load_mode") == other.setup.get("load_mode") == ONCE
        and told.host == other.host
        and told.drafter != other.drafter
        and versions[0] is not None
        and versions[0] == versions[1]
        and not refusals(told.setup, other.setup)
    )
