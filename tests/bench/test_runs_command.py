"""`gpudeck runs` in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from console.bench.points import Point
from console.bench.store import Manifest, RunStore

CAPTURES = Path(__file__).parent.parent / "captures" / "bench-tools"
SETUP = {
    "model_sha": "a1", "dataset_sha": "d1", "input_spec": "ids:1024", "output_spec": "fixed:256", "ignore_eos": True,
    "sampling": "temperature=0", "cache_preset": "cold", "load_mode": "closed", "prompt_format": "input_ids",
}  # fmt: skip


@pytest.fixture
def runs(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "data" / "gpudeck" / "runs")


def add(store: RunStore, name: str, factor: float, **more: Any) -> None:
    told: dict[str, Any] = {"setup": SETUP, "treatment": {"recipe": name}, **more}
    store.create(Manifest(id=f"{name}-1", created=f"2026-11-30T0{int(factor * 4)}:00:00Z", recipe=name, **told))
    for users in (1, 8):
        for repeat in range(3):
            store.add_point(f"{name}-1", Point(users, repeat, 60.0, 600, 0, users * 100 * factor + repeat))


def gpudeck(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "XDG_DATA_HOME": str(tmp_path / "data"), "HOME": str(tmp_path)}
    argv = [sys.executable, "-m", "console", *words]
    return subprocess.run(argv, env=env, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False)


def test_no_runs_is_said(tmp_path: Path) -> None:
    seen = gpudeck(tmp_path, "runs", "list")
    assert (seen.returncode, seen.stdout) == (0, "No runs yet: `gpudeck bench HOST` measures one.\n")


def test_list_compare_and_thresholds(tmp_path: Path, runs: RunStore) -> None:
    add(runs, "slow", 1.0)
    add(runs, "fast", 1.5, sweep="night")
    listed = json.loads(gpudeck(tmp_path, "runs", "list", "--json").stdout)
    assert [run["recipe"] for run in listed["runs"]] == ["fast", "slow"]
    assert listed["runs"][0]["best_tok_s"] == 1202.0
    assert "slow-1" not in gpudeck(tmp_path, "runs", "list", "night").stdout
    assert gpudeck(tmp_path, "runs", "list", "slow", "night").stdout == "None of 2 runs has all of these words.\n"
    unknown = gpudeck(tmp_path, "runs", "show", "quick")
    assert (unknown.returncode, "`gpudeck runs list` names all" in unknown.stderr) == (2, True)
    seen = gpudeck(tmp_path, "runs", "compare", "slow", "fast")
    assert seen.returncode == 0
    assert seen.stdout.count("faster") == 2
    broken = gpudeck(tmp_path, "runs", "compare", "fast", "slow", "--fail-if", "tok_s<-5%", "--json")
    assert broken.returncode == 8
    assert len(json.loads(broken.stdout)["violations"]) == 2
    assert gpudeck(tmp_path, "runs", "compare", "slow", "fast", "--fail-if", "tok_s<-5%").returncode == 0


def test_a_refused_comparison_exits_4_with_its_reason(tmp_path: Path, runs: RunStore) -> None:
    add(runs, "a", 1.0)
    add(runs, "b", 1.2, setup={**SETUP, "sampling": "temperature=1"})
    seen = gpudeck(tmp_path, "runs", "compare", "a-1", "b-1", "--fail-if", "tok_s<-1%")
    assert seen.returncode == 4
    assert "the sampling differs: temperature=0 against temperature=1" in seen.stderr
    assert "%" not in seen.stdout


@pytest.mark.parametrize(
    "words",
    [
        ("runs", "show", "nothing"),
        ("runs", "compare", "a", "b", "--fail-if", "speed<1"),
        ("runs", "export", "--format", "md"),
        ("runs", "dance"),
    ],
)
def test_mistakes_are_usage_errors(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert gpudeck(tmp_path, *words).returncode == 2


def test_import_show_export(tmp_path: Path) -> None:
    file = CAPTURES / "guidellm_0.8.1.json.gz"
    seen = gpudeck(tmp_path, "runs", "import", str(file), "--recipe", "imported")
    assert seen.returncode == 0
    assert "includes the first token" in seen.stderr
    run_id = seen.stdout.strip()
    shown = json.loads(gpudeck(tmp_path, "runs", "show", "last", "--json").stdout)
    assert (shown["schema"], shown["id"], shown["source"]) == ("gpudeck.run/1", run_id, "guidellm")
    assert shown["points"][0]["itl_ms"]["p50_reason"] == "not told by the tool"
    for kind, name in (("md", "report.md"), ("html", "report.html"), ("latex", "report.tex"), ("csv", "points.csv")):
        out = tmp_path / "out"
        assert gpudeck(tmp_path, "runs", "export", run_id, "--format", kind, "--out", str(out)).returncode == 0
        assert (out / name).stat().st_size > 200
    assert "<svg" in (tmp_path / "out" / "report.html").read_text()
    assert gpudeck(tmp_path, "runs", "import", __file__).returncode == 1
