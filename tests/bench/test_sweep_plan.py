"""The order of a sweep, what a crash leaves of it, its price."""

from __future__ import annotations

from console.bench.presets import PRESETS, Preset
from console.bench.sweep import price, remaining, runnable, units, within

QUICK = Preset("q", concurrency=(1, 8), repeats=2, window_s=60.0, window_max_s=120.0)
DATA = ["own"]


def test_the_baseline_comes_first_and_each_recipe_starts_once() -> None:
    plan = units(["tp8", "ep4", "ddtree"], "ep4", QUICK, DATA)
    assert [unit.recipe for unit in plan] == ["ep4", "tp8", "ddtree"]
    assert all(len(unit.points) == 4 for unit in plan)


def test_a_publishable_sweep_alternates_and_turns_round() -> None:
    alternating = Preset("p", concurrency=(1,), repeats=3, alternate=True)
    plan = units(["a", "b"], "a", alternating, DATA)
    assert [(unit.recipe, [p.repeat for p in unit.points]) for unit in plan] == [
        ("a", [0]),
        ("b", [0, 1]),
        ("a", [1, 2]),
        ("b", [2]),
    ]
    assert PRESETS["publish"].alternate


def test_what_is_done_is_not_measured_again() -> None:
    plan = units(["a", "b"], "a", QUICK, DATA)
    done = {("a", "own", point.name) for point in plan[0].points} | {("b", "own", "c0001-r0")}
    left = remaining(plan, done)
    assert [(unit.recipe, [p.name for p in unit.points]) for unit in left] == [
        ("b", ["c0008-r0", "c0001-r1", "c0008-r1"])
    ]
    assert remaining(plan, {(unit.recipe, unit.dataset, p.name) for unit in plan for p in unit.points}) == []


def test_forbidden_combinations_are_listed_with_their_rule() -> None:
    run, skipped = runnable(["a", "a+x=1", "a"], {"a+x=1": "x must be even"})
    assert run == ["a"]
    assert [(item.recipe, item.rule) for item in skipped] == [("a+x=1", "x must be even")]


def test_the_price_falls_with_what_is_done_and_a_budget_cuts() -> None:
    plan = units(["a", "b"], "a", QUICK, DATA)
    whole = price(plan, QUICK)
    assert (whole.starts, whole.points) == (2, 8)
    assert whole.likely_s < whole.longest_s
    assert price(plan[1:], QUICK).likely_s < whole.likely_s
    cut = within(plan, QUICK, whole.likely_s - 100)
    assert [len(unit.points) for unit in cut] == [4, 2]
    assert within(plan, QUICK, 0) == []
    assert within(plan, QUICK, whole.likely_s) == plan


def test_data_sets_share_the_server_of_their_recipe() -> None:
    plan = units(["a", "b"], "a", QUICK, ["own:code", "own:chat"])
    assert [(unit.recipe, unit.dataset) for unit in plan] == [
        ("a", "own:code"), ("a", "own:chat"), ("b", "own:code"), ("b", "own:chat"),
    ]  # fmt: skip
    assert price(plan, QUICK).starts == 2
    assert price(plan, QUICK, running="a").starts == 1
    left = remaining(plan, {("a", "own:code", point.name) for point in plan[0].points})
    assert [(unit.recipe, unit.dataset) for unit in left] == [(unit.recipe, unit.dataset) for unit in plan[1:]]


def test_a_publishable_sweep_turns_its_data_sets_round_too() -> None:
    alternating = Preset("p", concurrency=(1,), repeats=2, alternate=True)
    plan = units(["a", "b"], "a", alternating, ["x", "y"])
    assert [(u.recipe, u.dataset, len(u.points)) for u in plan] == [
        ("a", "x", 1), ("a", "y", 1), ("b", "x", 1), ("b", "y", 2), ("b", "x", 1), ("a", "y", 1), ("a", "x", 1),
    ]  # fmt: skip


def test_a_server_that_runs_costs_no_start() -> None:
    plan = units(["a"], "a", QUICK, DATA)
    assert within(plan, QUICK, 100.0) == []
    assert [len(unit.points) for unit in within(plan, QUICK, 100.0, running="a")] == [1]
    assert [len(unit.points) for unit in within(plan, QUICK, 100.0, start_s=5.0)] == [1]


def test_what_the_matrix_makes_of_the_baseline_comes_first() -> None:
    plan = units(["tree+n=1", "tree+n=2", "plain+n=1"], "plain", QUICK, DATA)
    assert [unit.recipe for unit in plan] == ["plain+n=1", "tree+n=1", "tree+n=2"]
