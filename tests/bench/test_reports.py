"""Reports in five formats: complete, escaped, self-contained."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.bench import figures, formats
from console.bench.points import Category, Percentiles, Point
from console.bench.report import report
from console.bench.store import Manifest, Run
from console.values import Unknown

SERVES = "python -m sglang.launch_server --tp 8 --api-key ***"
EVIL = "k26_<b>|&%$#\\x"
SETUP = {
    "model_sha": "a1", "dataset_sha": "d1", "input_spec": "prompts:80", "output_spec": "max:1024",
    "ignore_eos": False, "sampling": "temperature=0", "cache_preset": "cold", "load_mode": "closed",
    "prompt_format": "text",
}  # fmt: skip


def a_run(name: str, factor: float, **manifest: Any) -> Run:
    points = []
    for users, rate in ((1, 100.0), (8, 600.0), (64, 1500.0)):
        for repeat in range(3):
            point = Point(
                concurrency=users,
                repeat=repeat,
                window_s=60.0,
                requests=600,
                failed=0,
                output_tok_s=rate * factor + repeat,
                tok_s_gpu=rate * factor / 8,
                user_tok_s=rate / users,
                ttft_ms=Percentiles(100.0, 200.0, 300.0),
                itl_ms=Percentiles(10.0, 20.0, 30.0),
                accept_length=3.25 if manifest.get("drafter") else Unknown("no drafter"),
                accepted_per_position=(0.9, 0.6, 0.3) if manifest.get("drafter") else Unknown("no drafter"),
                categories={"code": Category(10, 1000, 50.0, 20.0 / factor, 3.5)} if manifest.get("drafter") else {},
                flags=("few_samples",) if users == 1 else (),
                causes=("p99 from 60 requests, 500 needed",) if users == 1 else (),
            )
            points.append(point)
    told: dict[str, Any] = {"setup": SETUP, "treatment": {"recipe": name}, **manifest}
    return Run(
        Manifest(id=f"run-{name[:3]}-{factor}", created="2026-11-30T00:00:00Z", recipe=name, gpus=8, **told),
        tuple(points),
    )


def three() -> list[Run]:
    refused = a_run("other", 1.1, setup={**SETUP, "output_spec": "fixed:256"})
    return [
        a_run(EVIL, 1.0, command="gpudeck bench box --preset accept", serves=SERVES, baseline=EVIL),
        a_run("drafted", 1.4, drafter=True, baseline=EVIL),
        msgspec.structs.replace(refused, manifest=msgspec.structs.replace(refused.manifest, baseline=EVIL)),
    ]


def test_markdown_says_everything() -> None:
    text = formats.markdown(report(three()))
    for title in ("Setup", "Results: drafted", "Acceptance", "Speed-up", "Comparisons", "Not compared", "Commands"):
        assert f"## {title}" in text
    assert "faster" in text
    assert "the output length differs: max:1024 against fixed:256" in text
    assert "gpudeck bench box --preset accept" in text
    assert SERVES in text
    assert "not below 1 to the end" in text
    assert "p99 from 60 requests" in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    unescaped = [re.sub(r"\\.", "", row) for row in rows]
    assert len({row.count("|") for row in unescaped[:4]}) == 1


class Watch(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name in ("src", "href")]


def test_the_web_page_is_self_contained_and_escaped() -> None:
    drawn: list[str] = []

    def draw(figure: figures.Figure) -> str:
        drawn.append(figure.name)
        return "<svg></svg>"

    page = formats.web_page(report(three()), draw)
    watch = Watch()
    watch.feed(page)
    assert "b" not in watch.tags
    assert "script" not in watch.tags
    assert watch.links == []
    assert {"throughput", "speeds", "ttft", "itl", "acceptance", "speedup"} <= set(drawn)
    assert watch.tags.count("svg") == len(drawn)


def test_latex_compiles_or_is_at_least_balanced(tmp_path: Path) -> None:
    text = formats.latex(report(three()))
    assert text.count(r"\begin{") == text.count(r"\end{")
    body = re.sub(r"\\[\\{}$&#%_]", "", text)
    assert body.count("{") == body.count("}")
    assert formats.tex("a_b 100% ± 日") == r"a\_b 100\% $\pm$ ?"
    if shutil.which("pdflatex"):
        (tmp_path / "r.tex").write_text(text)
        argv = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "r.tex"]
        env = {"HOME": str(tmp_path), **os.environ}  # it makes its fonts there
        assert subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t"])
def test_no_text_of_a_csv_is_a_formula(sign: str) -> None:
    (row, *_) = csv.DictReader(io.StringIO(formats.table_csv([a_run(f"{sign}cmd()", 1.0)])))
    assert row["recipe"] == f"'{sign}cmd()"


def test_csv_has_one_row_a_point_and_empty_cells_for_unknown() -> None:
    rows = list(csv.DictReader(io.StringIO(formats.table_csv(three()))))
    assert len(rows) == 27
    assert rows[0]["accept_length"] == ""
    assert rows[9]["accept_length"] == "3.25"
    assert rows[0]["flags"] == "few_samples"


def test_json_of_one_and_of_several() -> None:
    runs = three()
    one = json.loads(formats.document_json(runs[:1], "2026-11-30T00:00:00Z"))
    assert (one["schema"], one["id"]) == ("gpudeck.run/1", runs[0].id)
    several = json.loads(formats.document_json(runs, "2026-11-30T00:00:00Z"))
    assert [run["id"] for run in several["runs"]] == [run.id for run in runs]


def test_an_empty_run_is_reported_as_such() -> None:
    empty = Run(Manifest(id="e", created="2026-11-30T00:00:00Z", recipe="e"), ())
    text = formats.markdown(report([empty]))
    assert "## Setup" in text
    assert "## Curves" not in text


def test_curves_keep_flagged_points_hollow_and_unknown_ones_as_gaps() -> None:
    run = a_run("x", 1.0)
    spoiled = tuple(msgspec.structs.replace(p, flags=("server_cap",)) if p.concurrency == 64 else p for p in run.points)
    figure = figures.throughput([Run(run.manifest, spoiled)], ghost=run)
    assert figure.lines[0].flagged == {2}
    assert figure.lines[1].ghost
    assert figure.lines[0].lows[0] is not None
    speeds = figures.speeds([Run(run.manifest, spoiled)], 12.5)
    assert {line.name for line in speeds.lines} == {"x", "frontier", "SLO 12.5 tok/s/user"}
    gap = Point(1, 0, 60.0, 1, 0, Unknown("cut"))
    assert figures.throughput([Run(run.manifest, (gap,))]).lines[0].ys == (None,)


def test_the_histogram_of_accepted_drafts_sums_to_one() -> None:
    (line,) = figures.accept_histogram([a_run("d", 1.0, drafter=True)]).lines
    assert line.xs == (0.0, 1.0, 2.0, 3.0)
    assert line.ys == pytest.approx((0.1, 0.3, 0.3, 0.3))


def test_two_runs_of_one_recipe_keep_apart() -> None:
    assert figures.labels([a_run("x", 1.0), a_run("x", 2.0)]) == ["x run-x-1.0", "x run-x-2.0"]


@pytest.mark.parametrize("runs", [1, 2])
def test_every_format_of_a_few_runs(runs: int) -> None:
    chosen = three()[:runs]
    made = report(chosen)
    assert formats.markdown(made).startswith("# Benchmark of ")
    assert formats.latex(made).endswith("\\end{document}\n")


def scheduled(rate: float, rate_s: float, bad: bool = False) -> Point:
    return Point(
        256, 0, 600.0, 5000, 0, rate_s, rate=rate, request_s=rate, goodput_req_s=rate * (0.2 if bad else 1.0),
        attainment_ratio=0.2 if bad else 1.0, ttft_ms=Percentiles(500.0, 500.0, 500.0),
        queued_ttft_ms=Percentiles(*[9000.0 if bad else 510.0] * 3), queued_e2e_ms=Percentiles(*[9900.0] * 3),
    )  # fmt: skip


def test_offered_rates_are_points_of_their_own_with_the_waiting_included() -> None:
    rates = ((1.0, 100.0), (2.0, 200.0), (4.0, 400.0), (8.0, 790.0), (16.0, 800.0))
    points = tuple(scheduled(rate, tokens, rate == 16.0) for rate, tokens in rates)
    run = Run(Manifest(id="slo", created="2026-11-30T00:00:00Z", recipe="slo", preset="slo", setup=SETUP), points)
    text = formats.markdown(report([run]))
    assert "The throughput bends at 8 offered requests/s." in text
    assert "| 256 16/s | 800.0 |" in text
    assert "| 16 | 16.00 | 9000 | 9000 | 9000 | 9900 | 9900 | 9900 | 3.20 | 20.0 |" in text
    assert figures.goodput([run]).lines[0].ys == pytest.approx((1.0, 2.0, 4.0, 8.0, 3.2))
    assert figures.throughput([run]).lines[0].xs == (1.0, 2.0, 4.0, 8.0, 16.0)
    cells = list(csv.DictReader(io.StringIO(formats.table_csv([run]))))
    assert [(row["rate"], row["queued_ttft_ms_p99"]) for row in cells[-2:]] == [("8.0", "510.0"), ("16.0", "9000.0")]


def test_open_and_closed_loop_are_never_in_one_picture() -> None:
    closed = a_run("closed", 1.0)
    run = Run(Manifest(id="slo", created="2026-11-30T00:00:00Z", recipe="slo"), (scheduled(1.0, 100.0),))
    curves = next(section for section in report([closed, run]).sections if section.title == "Curves").figures
    axes = {(figure.x_label, line.name) for figure in curves if figure.name == "throughput" for line in figure.lines}
    assert axes == {("concurrency", "closed"), ("offered requests/s", "slo")}
