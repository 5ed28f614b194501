"""The order of a sweep, what is left of it after a crash, and what it costs. Pure.

A unit is one measurement: a recipe with the points to measure on it with one data set. Units of one recipe lie side by
side and share a server. Normally a recipe measures all its repeats before the next one starts; a publishable sweep
alternates recipes round by round, so that heat and drift hit all alike, and reverses every other round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise

import msgspec

from console.bench.presets import FLUSH_S, SERVER_START_S, WARMUP_LIKELY_S, WARMUP_MAX_S, PlannedPoint, Preset, planned

Measured = tuple[str, str, str]  # (recipe, data set, name of the point)


class Unit(msgspec.Struct, frozen=True):
    recipe: str
    dataset: str
    points: tuple[PlannedPoint, ...]


class Skipped(msgspec.Struct, frozen=True):
    """A combination that is not run, and the rule that forbids it."""

    recipe: str
    rule: str


def runnable(names: Sequence[str], rules: Mapping[str, str]) -> tuple[list[str], list[Skipped]]:
    """Recipes to run, and those with a broken rule; a derived name that comes twice runs once."""
    unique = list(dict.fromkeys(names))
    return (
        [name for name in unique if name not in rules],
        [Skipped(name, rules[name]) for name in unique if name in rules],
    )


def units(recipes: Sequence[str], baseline: str, preset: Preset, datasets: Sequence[str]) -> list[Unit]:
    """All units in order, the baseline (and what the matrix derives from it) first."""
    ordered = sorted(recipes, key=lambda name: name.partition("+")[0] != baseline)
    points = planned(preset)
    if not preset.alternate:
        return [Unit(recipe, data, tuple(points)) for recipe in ordered for data in datasets]
    rounds = []
    for repeat in range(preset.repeats):
        own = tuple(point for point in points if point.repeat == repeat)
        there = [Unit(recipe, data, own) for recipe in ordered for data in datasets]
        rounds += there if repeat % 2 == 0 else there[::-1]
    return _joined(rounds)


def _joined(rounds: list[Unit]) -> list[Unit]:
    """Two neighbours that ask the same of one recipe are one."""
    result: list[Unit] = []
    for unit in rounds:
        last = result[-1] if result else None
        if last is not None and (last.recipe, last.dataset) == (unit.recipe, unit.dataset):
            result[-1] = Unit(unit.recipe, unit.dataset, last.points + unit.points)
        else:
            result.append(unit)
    return result


def remaining(plan: Sequence[Unit], done: Collection[Measured]) -> list[Unit]:
    """What is left: a unit whose points are all measured needs no server."""
    left = [
        Unit(
            unit.recipe, unit.dataset, tuple(p for p in unit.points if (unit.recipe, unit.dataset, p.name) not in done)
        )
        for unit in plan
    ]
    return _joined([unit for unit in left if unit.points])


class Price(msgspec.Struct, frozen=True):
    """Seconds."""

    starts: int
    points: int
    likely_s: float
    longest_s: float


def price(plan: Sequence[Unit], preset: Preset, start_s: float = SERVER_START_S, running: str = "") -> Price:
    """What the rest of a sweep costs. `start_s`: what a server's start took so far, or the usual guess; `running`:
    the recipe that is served already."""
    count = sum(len(unit.points) for unit in plan)
    starts = sum(a != b for a, b in pairwise([running, *(unit.recipe for unit in plan)]))
    likely = starts * start_s + count * _point_s(preset)
    longest = starts * max(start_s, SERVER_START_S) + count * (FLUSH_S + WARMUP_MAX_S + preset.window_max_s)
    return Price(starts, count, likely, longest)


def within(
    plan: Sequence[Unit], preset: Preset, budget_s: float, start_s: float = SERVER_START_S, running: str = ""
) -> list[Unit]:
    """The units that fit into a time budget, in order; a unit is cut rather than dropped when its start fits."""
    kept: list[Unit] = []
    left, each = budget_s, _point_s(preset)
    for unit in plan:
        left -= start_s * (unit.recipe != running)
        fitting = int(left // each)
        if fitting <= 0:
            break
        kept.append(Unit(unit.recipe, unit.dataset, unit.points[:fitting]))
        left -= len(kept[-1].points) * each
        running = unit.recipe
    return kept


def _point_s(preset: Preset) -> float:
    return FLUSH_S + WARMUP_LIKELY_S + preset.window_s
