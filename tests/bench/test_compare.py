"""Which configuration wins, by how much, how sure; and the refusal to say so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.bench.compare import compare, differences
from console.bench.formats import markdown
from console.bench.importers import import_file
from console.bench.lines import comparison_lines
from console.bench.points import Category, Percentiles, Point
from console.bench.report import report
from console.bench.speedup import curve
from console.bench.store import Manifest, Run
from console.bench.thresholds import ThresholdError, parse, violations
from console.values import Unknown, known

SETUP = {
    "model_sha": "a1", "dataset_sha": "d1", "input_spec": "ids:1024", "output_spec": "fixed:256", "ignore_eos": True,
    "sampling": "temperature=0", "cache_preset": "cold", "load_mode": "closed", "prompt_format": "input_ids",
    "weights_kind": "real",
}  # fmt: skip


def a_run(name: str, rates: dict[int, list[float]], manifest: dict[str, Any] | None = None, **point: Any) -> Run:
    told = {"setup": SETUP, "treatment": {"recipe": name}, **(manifest or {})}
    points = tuple(
        Point(users, repeat, 60.0, 600, 0, rate, **point)
        for users, values in rates.items()
        for repeat, rate in enumerate(values)
    )
    return Run(Manifest(id=name, created="2026-11-30T00:00:00Z", recipe=name, **told), points)


AR = {1: [100.0, 101.0, 99.0], 8: [700.0, 702.0, 701.0], 64: [2000.0, 2010.0, 1990.0]}


def test_a_clear_gain_a_small_change_and_a_noisy_one() -> None:
    other = a_run("b", {1: [121.0, 120.0, 122.0], 8: [706.0, 708.0, 707.0], 64: [1500.0, 2900.0, 2600.0]})
    seen = compare(a_run("a", AR), other)
    assert not seen.refused
    assert [row.verdict for row in seen.rows] == ["faster", "no difference shown", "no difference shown"]
    assert seen.treatment == {"recipe": ("a", "b")}
    assert known(seen.rows[0].changes[0].rel)
    assert seen.rows[0].changes[0].rel == pytest.approx(0.21)


def test_one_repeat_is_no_verdict() -> None:
    seen = compare(a_run("a", {1: [100.0]}), a_run("b", {1: [200.0]}))
    assert seen.rows[0].verdict == "no difference shown"
    assert "two repeats" in seen.rows[0].why


def test_a_flagged_point_cannot_win() -> None:
    fast = a_run("b", {1: [300.0, 301.0, 299.0]}, flags=("few_samples", "server_cap"))
    row = compare(a_run("a", {1: [100.0, 101.0, 99.0]}), fast).rows[0]
    assert (row.verdict, row.why) == ("no verdict", "flagged: server_cap")


def test_differing_graphs_are_said_with_the_verdict() -> None:
    graphs = {"treatment": {"recipe": "b", "graphs": False, "overlap": True}}
    row = compare(a_run("a", {1: [100.0, 101.0]}), a_run("b", {1: [200.0, 201.0]}, graphs)).rows[0]
    assert row.verdict == "faster"
    assert row.why == "differs also in graphs, overlap"


def test_another_driver_power_limit_or_clock_is_said_with_the_verdict() -> None:
    sides = [
        {"machine": {"driver": driver, "power_limit_w": watts, "clocks": 1980}}
        for driver, watts in (("580.95", 700.0), ("580.159", 600.0))
    ]
    row = compare(a_run("a", {1: [100.0, 101.0]}, sides[0]), a_run("b", {1: [200.0, 201.0]}, sides[1])).rows[0]
    assert (row.verdict, row.why) == ("faster", "differs also in power_limit_w, driver")


def test_trees_are_judged_by_length_and_rate() -> None:
    row = compare(a_run("a", {1: [100.0, 101.0]}), a_run("b", {1: [200.0, 201.0]}, {"tree": True})).rows[0]
    assert "not by acceptance rate" in row.why
    assert "accept_ratio" not in {change.metric for change in row.changes}


def test_the_night_that_started_it_is_refused_with_its_reasons() -> None:
    """EP4: 1530 tok/s at C = 256; TP8 with graphs: 97.9 at C = 1; no lengths, no data set, written in a chat."""
    captures = Path(__file__).parent.parent / "captures" / "night"
    tp8, ep4 = (imported(captures / f"{name}.jsonl") for name in ("tp8", "ep4"))
    seen = compare(tp8, ep4)
    assert comparison_lines(seen) == [
        "A tp8",
        "B ep4",
        "  ep: 1 → 4",
        "  graphs: True → unknown",
        "  not comparable: the model's commit is not known of either run",
        "  not comparable: the data set is not known of either run",
        "  not comparable: the input length is not known of either run",
        "  not comparable: the output length is not known of either run",
        "  not comparable: whether EOS ends an answer is not known of either run",
        "  not comparable: the sampling is not known of either run",
        "  not comparable: the state of the prefix cache is not known of either run",
        "  not comparable: no concurrency was measured on both sides: C = 1 against C = 256",
        "  differs also in graphs",
        "C    A tok/s  B tok/s  change  verdict       remark",
        "1    97.9     –        –       side by side",
        "256  –        1530.0   –       side by side",
    ]
    assert [known(run.points[0].tok_s_gpu) and run.points[0].tok_s_gpu for run in (tp8, ep4)] == [97.9 / 8, 191.25]
    text = markdown(report([tp8, ep4]))
    assert "ep4 against tp8: the model's commit is not known of either run; the data set is not" in text
    assert "they differ also in graphs" in text
    assert "faster" not in text
    assert "Speed-up" not in text


def imported(path: Path) -> Run:
    seen = import_file(path.read_bytes(), path.name)
    told = Manifest(id=path.stem, created="2026-11-30T00:00:00Z", recipe=path.stem, setup=seen.setup)
    return Run(msgspec.structs.replace(told, treatment=seen.treatment), seen.points)


def test_a_refused_comparison_shows_both_sides_without_a_percentage() -> None:
    longer = {"setup": {**SETUP, "output_spec": "max:2048", "ignore_eos": False}}
    seen = compare(a_run("a", {1: [100.0, 101.0]}), a_run("b", {1: [200.0, 201.0]}, longer))
    assert seen.refusals == (
        "the output length differs: fixed:256 against max:2048",
        "whether EOS ends an answer differs: True against False",
    )
    assert seen.rows[0].verdict == "side by side"
    assert known(seen.rows[0].changes[0].b)
    assert all(not known(change.rel) for change in seen.rows[0].changes)


def test_nothing_in_common_is_a_refusal() -> None:
    seen = compare(a_run("a", {1: [1.0]}), a_run("b", {8: [1.0]}))
    assert seen.refusals == ("no concurrency was measured on both sides: C = 1 against C = 8",)
    assert [row.concurrency for row in seen.rows] == [1, 8]
    assert all(not known(change.rel) for row in seen.rows for change in row.changes)


DRAFTED: dict[str, Any] = {"drafter": True}


def test_speed_up_over_the_baseline_with_its_crossover() -> None:
    spec = a_run("s", {1: [240.0, 241.0, 239.0], 8: [910.0, 911.0, 912.0], 64: [1800.0, 1805.0, 1795.0]}, DRAFTED)
    seen = curve(a_run("a", AR), spec)
    assert seen.refusals == ()
    assert [round(gain.total, 2) for gain in seen.gains if known(gain.total)] == [2.4, 1.3, 0.9]
    assert seen.crossover == 64
    ci = seen.gains[0].ci
    assert known(ci)
    assert ci[0] < 2.4 < ci[1]


def test_speed_up_is_by_total_time_over_categories() -> None:
    """Code 100 tokens at 60 → 120 tok/s, chat 100 at 80 → 80: 1.40, not the ratio of means (1.43)."""
    plain = {"code": Category(1, 100, 60.0, 100 / 60, 1.0), "chat": Category(1, 100, 80.0, 100 / 80, 1.0)}
    fast = {"code": Category(1, 100, 120.0, 100 / 120, 3.0), "chat": Category(1, 100, 80.0, 100 / 80, 2.0)}
    seen = curve(a_run("a", {1: [70.0]}, categories=plain), a_run("s", {1: [100.0]}, DRAFTED, categories=fast))
    assert seen.gains[0].total == pytest.approx(1.4)
    assert seen.gains[0].ci == Unknown("an interval needs two repeats on each side")


@pytest.mark.parametrize(
    ("base", "run", "reason"),
    [
        ({}, {**DRAFTED, "random_prompts": True}, "random prompts say nothing about a drafter"),
        (DRAFTED, DRAFTED, "the baseline has a drafter itself"),
        ({}, {}, "the run has no drafter"),
    ],
)
def test_no_speed_up_is_printed_without_grounds(base: dict[str, Any], run: dict[str, Any], reason: str) -> None:
    seen = curve(a_run("a", AR, base), a_run("s", AR, run))
    assert reason in seen.refusals
    assert seen.gains == ()


def test_a_flagged_point_has_no_speed_up() -> None:
    seen = curve(a_run("a", AR), a_run("s", AR, DRAFTED, flags=("server_cap",)))
    assert all(gain.total == Unknown("flagged: server_cap") for gain in seen.gains)


def test_limits_for_machines() -> None:
    a = a_run("a", {1: [100.0], 8: [700.0]}, ttft_ms=Percentiles(200.0, 300.0, 400.0))
    b = a_run("b", {1: [94.0], 8: [700.0]}, ttft_ms=Percentiles(260.0, 300.0, 400.0))
    seen = compare(a, b)
    assert violations(parse("tok_s<-5%"), seen) == ["tok_s<-5% at C=1: 100 → 94 (-6.00%)"]
    assert violations(parse("tok_s<-7%"), seen) == []
    assert len(violations(parse("ttft_p50>50, tok_s < -5 %"), seen)) == 3
    assert violations(parse("accept_length<-0.1"), seen)[0].endswith("accept_length is not known on both sides")


@pytest.mark.parametrize("text", ["", "tok_s", "tok_s=3", "speed<1", "tok_s<-5%,", "tok_s<5%%", "tok_s<nan"])
def test_a_limit_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ThresholdError):
        parse(text)


def test_the_diff_of_two_manifests() -> None:
    a = a_run("a", {}).manifest
    b = msgspec.structs.replace(a, machine={"driver": "580.1"}, treatment={"recipe": "a", "tp": 8})
    assert differences(a, b) == {"treatment.tp": (None, 8), "machine.driver": (None, "580.1")}
