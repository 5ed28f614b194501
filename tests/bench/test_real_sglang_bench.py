"""The real SGLang 0.5.23 on the CPU, behind a real sshd: beside its own tool, and swept over a killed console."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.bench.store import RunStore
from tests.support.real_sglang import START_S, Real, real_box

pytestmark = pytest.mark.slow
WINDOW_S = os.environ.get("GPUDECK_REAL_WINDOW_S", "10")
LENGTHS = ("--isl", "16", "--osl", "16", "--window", WINDOW_S)
SWEEP = """
[sweep]
recipes = ["torch", "chunked"]
baseline = "torch"
concurrency = [1, 2, 4]
preset = "smoke"
repeats = 1
"""
POINTS = ["c0001-r0", "c0002-r0", "c0004-r0"]


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    with real_box(tmp_path) as one:
        yield one


def runs_of(real: Real) -> RunStore:
    return RunStore(real.gpudeck.home / "data" / "gpudeck" / "runs")


def test_our_client_beside_its_own(real: Real) -> None:
    """Both tools at C = 1, 2, 4. The table is printed: how far apart they may be is a question to a quiet machine."""
    real.recipe("tiny")
    real.run("serve", real.alias, "start", "tiny")
    words = ("--server", str(real.port), "--concurrency", "1,2,4", *LENGTHS, "--second-opinion")
    shown = real.run("bench", real.alias, *words)
    sys.stdout.write(shown + real.said)
    ours, theirs = sorted(runs_of(real).runs(), key=lambda run: run.manifest.source)
    sys.stdout.write(real.run("runs", "show", ours.id) + real.run("runs", "show", theirs.id))
    assert [point.name for point in ours.points] == POINTS
    assert [point.concurrency for point in theirs.points] == [1, 2, 4]
    assert all(point.failed == 0 and point.requests for point in ours.points)
    assert "side by side" not in shown, "the same was asked"


def test_a_sweep_over_a_killed_console(real: Real) -> None:
    """Two recipes at C = 1, 2, 4; the console dies in the middle of the second one."""
    real.recipe("torch")
    real.recipe("chunked", ", chunked-prefill-size = 512")
    file, store = real.recipes.parent / "night.toml", runs_of(real)
    file.write_text(SWEEP)
    words = real.gpudeck.argv("sweep", real.alias, str(file), *LENGTHS)
    walking = subprocess.Popen(
        words, env=real.gpudeck.env, cwd=file.parent, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + START_S
    while sum(len(run.points) for run in store.runs()) < 4 and walking.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.2)
    os.kill(walking.pid, signal.SIGKILL)
    sys.stdout.write(walking.communicate()[1])
    told = json.loads(real.run("sweep", real.alias, str(file), *LENGTHS, "--json"))
    sys.stdout.write(real.said)
    assert (told["failed"], told["left"]) == ([], 0)
    measured = sorted((run.manifest.recipe, point.name) for run in store.runs() for point in run.points)
    assert measured == [(recipe, name) for recipe in ("chunked", "torch") for name in POINTS]
    assert real.said.count("Stopping") == 0, "the second server went on"
    sys.stdout.write(real.run("runs", "list", "night"))
    again = json.loads(real.run("sweep", real.alias, str(file), *LENGTHS, "--json"))
    assert again["runs"] == told["runs"]
    assert len(list(real.state.glob("gpudeck/jobs/serve-*"))) == 2
