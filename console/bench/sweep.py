"""The order of a sweep, what is left of it after a crash, and what it costs. Pure.

A unit is one server start: a recipe with the points to measure on it. Normally a recipe measures all its repeats
before the next one starts; a publishable sweep alternates recipes round by round, so that heat and drift hit all
alike, and reverses every other round.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from console.bench.presets import FLUSH_S, SERVER_START_S, WARMUP_LIKELY_S, WARMUP_MAX_S, PlannedPoint, Preset, planned

Measured = tuple[str, str]  # (recipe, name of the point)


class Unit(msgspec.Struct, frozen=True):
    recipe: str
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


def units(recipes: Sequence[str], baseline: str, preset: Preset) -> list[Unit]:
    """All units in order, the baseline first."""
    ordered = sorted(recipes, key=lambda name: name != baseline)
    points = planned(preset)
    if not preset.alternate:
        return [Unit(recipe, tuple(points)) for recipe in ordered]
    rounds = []
    for repeat in range(preset.repeats):
        own = tuple(point for point in points if point.repeat == repeat)
        rounds += [Unit(recipe, own) for recipe in (ordered if repeat % 2 == 0 else ordered[::-1])]
    return _joined(rounds)


def _joined(rounds: list[Unit]) -> list[Unit]:
    """Two neighbours of one recipe need one start."""
    result: list[Unit] = []
    for unit in rounds:
        if result and result[-1].recipe == unit.recipe:
            result[-1] = Unit(unit.recipe, result[-1].points + unit.points)
        else:
            result.append(unit)
    return result


def remaining(plan: Sequence[Unit], done: Collection[Measured]) -> list[Unit]:
    """What is left: a unit whose points are all measured needs no server."""
    left = [Unit(unit.recipe, tuple(p for p in unit.points if (unit.recipe, p.name) not in done)) for unit in plan]
    return _joined([unit for unit in left if unit.points])


class Price(msgspec.Struct, frozen=True):
    """Seconds."""

    starts: int
    points: int
    likely_s: float
    longest_s: float


def price(plan: Sequence[Unit], preset: Preset, start_s: float = SERVER_START_S) -> Price:
    """What the rest of a sweep costs; `start_s` is what a server's start took so far, or the usual guess."""
    count = sum(len(unit.points) for unit in plan)
    likely = len(plan) * start_s + count * (FLUSH_S + WARMUP_LIKELY_S + preset.window_s)
    return Price(
        len(plan),
        count,
        likely,
        len(plan) * max(start_s, SERVER_START_S) + count * (FLUSH_S + WARMUP_MAX_S + preset.window_max_s),
    )


def within(plan: Sequence[Unit], preset: Preset, budget_s: float, start_s: float = SERVER_START_S) -> list[Unit]:
    """The units that fit into a time budget, in order; a unit is cut rather than dropped when its start fits."""
    kept: list[Unit] = []
    left = budget_s
    each = FLUSH_S + WARMUP_LIKELY_S + preset.window_s
    for unit in plan:
        fitting = int((left - start_s) // each)
        if fitting <= 0:
            break
        kept.append(Unit(unit.recipe, unit.points[:fitting]))
        left -= start_s + len(kept[-1].points) * each
    return kept
