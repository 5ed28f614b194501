"""The order of a sweep, what a crash leaves of it, its price."""

from __future__ import annotations

from console.bench.presets import PRESETS, Preset
from console.bench.sweep import price, remaining, runnable, units, within

QUICK = Preset("q", concurrency=(1, 8), repeats=2, window_s=60.0, window_max_s=120.0)


def test_the_baseline_comes_first_and_each_recipe_starts_once() -> None:
    plan = units(["tp8", "ep4", "ddtree"], "ep4", QUICK)
    assert [unit.recipe for unit in plan] == ["ep4", "tp8", "ddtree"]
    assert all(len(unit.points) == 4 for unit in plan)


def test_a_publishable_sweep_alternates_and_turns_round() -> None:
    alternating = Preset("p", concurrency=(1,), repeats=3, alternate=True)
    plan = units(["a", "b"], "a", alternating)
    assert [(unit.recipe, [p.repeat for p in unit.points]) for unit in plan] == [
        ("a", [0]),
        ("b", [0, 1]),
        ("a", [1, 2]),
        ("b", [2]),
    ]
    assert PRESETS["publish"].alternate


def test_what_is_done_is_not_measured_again() -> None:
    plan = units(["a", "b"], "a", QUICK)
    done = {("a", point.name) for point in plan[0].points} | {("b", "c0001-r0")}
    left = remaining(plan, done)
    assert [(unit.recipe, [p.name for p in unit.points]) for unit in left] == [
        ("b", ["c0008-r0", "c0001-r1", "c0008-r1"])
    ]
    assert remaining(plan, {(unit.recipe, p.name) for unit in plan for p in unit.points}) == []


def test_forbidden_combinations_are_listed_with_their_rule() -> None:
    run, skipped = runnable(["a", "a+x=1", "a"], {"a+x=1": "x must be even"})
    assert run == ["a"]
    assert [(item.recipe, item.rule) for item in skipped] == [("a+x=1", "x must be even")]


def test_the_price_falls_with_what_is_done_and_a_budget_cuts() -> None:
    plan = units(["a", "b"], "a", QUICK)
    whole = price(plan, QUICK)
    assert (whole.starts, whole.points) == (2, 8)
    assert whole.likely_s < whole.longest_s
    assert price(plan[1:], QUICK).likely_s < whole.likely_s
    cut = within(plan, QUICK, whole.likely_s - 100)
    assert [len(unit.points) for unit in cut] == [4, 2]
    assert within(plan, QUICK, 0) == []
    assert within(plan, QUICK, whole.likely_s) == plan
