"""The story's matrix: layouts × speculation × CUDA graphs, allowed or refused with the reason, per version."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest

from console.config.recipes import load_recipes
from console.gates.arguments import Finding, check_flags
from console.gates.drafter import Pair, drafter_gate
from console.gates.rules import Plan, check_rules, layout_of, long_names
from console.values import clean, known
from tests.support.engines import VERSIONS, kimi_config, kimi_drafter, recorded_engine
from tests.support.frames import check_frame

BOOK = load_recipes(cwd=Path("/nonexistent"), env={"HOME": "/nonexistent"})
LAYOUTS, DRAFTERS, GRAPHS = ("tp8", "pp8", "ep8", "ep4"), ("", "DFLASH", "DDTREE"), (True, False)

REFUSED = {
    # (layout, drafter): the rules, in both versions
    **{(layout, "DDTREE"): ["algorithm"] for layout in LAYOUTS},
    ("pp8", "DDTREE"): ["algorithm", "pp_speculation"],
    ("pp8", "DFLASH"): ["pp_speculation"],
}


def findings(version: str, layout: str, drafter: str, graphs: bool) -> list[Finding]:
    engine, recipe = recorded_engine(version), BOOK.get(f"k26-{layout}")
    args = dict(recipe.args)
    if drafter:
        args |= {"speculative-algorithm": drafter, "max-running-requests": 256}
    if not graphs:
        args["disable-cuda-graph"] = True
    long = long_names(args, engine)
    plan = Plan(
        args=long,
        engine=engine,
        layout=layout_of(long)[0],
        config=kimi_config(),
        draft="z-lab/Kimi-K2.6-DFlash" if drafter else "",
        served_name=recipe.model,
        concurrency=64,
    )
    return [*check_flags(args, engine), *check_rules(plan)]


@pytest.mark.parametrize(("layout", "drafter", "graphs"), list(itertools.product(LAYOUTS, DRAFTERS, GRAPHS)))
@pytest.mark.parametrize("version", VERSIONS)
def test_the_storys_matrix(version: str, layout: str, drafter: str, graphs: bool) -> None:
    blocks = [finding for finding in findings(version, layout, drafter, graphs) if finding.verdict == "block"]
    assert [finding.rule for finding in blocks] == REFUSED.get((layout, drafter), [])
    for finding in blocks:
        assert version in finding.sentence or "pp 1" in finding.sentence


def cell(version: str, layout: str, drafter: str, graphs: bool) -> str:
    said = findings(version, layout, drafter, graphs)
    blocks = [finding.sentence for finding in said if finding.verdict == "block"]
    notes = [finding.sentence for finding in said if finding.verdict == "warn"]
    return f"refused: {' '.join(blocks)}" if blocks else " ".join(["allowed", *(f"({note})" for note in notes)])


def test_the_matrix_is_told_in_the_documentation() -> None:
    source = "Made by `tests/plan/test_matrix.py` from the introspection of both versions; 64 requests at once."
    head = f"| layout | drafter | CUDA graphs | {' | '.join(VERSIONS)} |"
    lines = ["# Kimi-K2.6 on eight GPUs: what each SGLang allows", "", source, "", head, f"|{'---|' * 5}"]
    for layout, drafter, graphs in itertools.product(LAYOUTS, DRAFTERS, GRAPHS):
        cells = [cell(version, layout, drafter, graphs) for version in VERSIONS]
        lines.append(f"| {layout.upper()} | {drafter or 'none'} | {'on' if graphs else 'off'} | {' | '.join(cells)} |")
    check_frame(Path(__file__).parents[2] / "docs" / "kimi-matrix.md", "\n".join(lines))


@pytest.mark.parametrize("version", VERSIONS)
def test_ddtree_is_allowed_where_introspection_lists_it(version: str) -> None:
    engine = recorded_engine(version)
    assert known(engine.algorithms)
    fork = msgspec.structs.replace(engine, algorithms=(*engine.algorithms, clean("DDTREE")))
    recipe = BOOK.get("k26-ep4-ddtree")
    long = long_names(recipe.args, fork)
    plan = Plan(args=long, engine=fork, layout=layout_of(long)[0], config=kimi_config(), draft="d", concurrency=64)
    assert [f.rule for f in (*check_flags(recipe.args, fork), *check_rules(plan)) if f.verdict == "block"] == []


@pytest.mark.parametrize(("version", "warns"), [("0.5.11", False), ("0.5.23", True)])
def test_switching_the_graphs_off_is_deprecated_in_the_newer_version(version: str, warns: bool) -> None:
    said = [finding for finding in findings(version, "tp8", "", graphs=False) if finding.rule == "deprecated"]
    assert bool(said) is warns


@pytest.mark.parametrize(("version", "warns"), [("0.5.11", True), ("0.5.23", False)])
def test_dflash_turns_the_overlap_scheduler_off_in_the_older_version(version: str, warns: bool) -> None:
    said = [finding for finding in findings(version, "ep4", "DFLASH", graphs=True) if finding.rule == "dflash_overlap"]
    assert bool(said) is warns


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", sorted(name for name in BOOK.recipes if name.startswith("k26-") and "dflash" in name))
def test_shipped_drafter_recipes_pass_the_drafter_gate(version: str, name: str) -> None:
    recipe, engine = BOOK.get(name), recorded_engine(version)
    gate = drafter_gate(
        Pair(
            algorithm="DFLASH",
            target_id=recipe.model,
            target=kimi_config(),
            draft_id=recipe.draft or "",
            draft=kimi_drafter(),
            engine=engine,
            layout=layout_of(long_names(recipe.args, engine))[0],
        )
    )
    assert gate.verdict == "pass", gate.sentence
