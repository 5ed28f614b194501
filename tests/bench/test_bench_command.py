"""`gpudeck bench local` against the SGLang stand-in: from the command line to the stored run, over any death."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from console.bench.store import RunStore
from tests.support.patience import COMMAND_S, PATIENCE_S
from tests.support.standin import standin

ROOT = Path(__file__).parents[2]
QUICK = ("--concurrency", "2", "--window", "1", "--isl", "16", "--osl", "16")


class Console:
    """The command line with directories of its own."""

    def __init__(self, directory: Path) -> None:
        home = directory / "home"
        home.mkdir()
        xdg = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        self.env = {**os.environ, **xdg, "HOME": str(home), "PYTHONPATH": str(ROOT)}
        self.store = RunStore(home / "data" / "gpudeck" / "runs")

    def start(self, *words: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "console", *words]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, env=self.env, stdout=pipe, stderr=pipe, text=True)

    def run(self, *words: str) -> tuple[int, str, str]:
        process = self.start(*words)
        out, errors = process.communicate(timeout=COMMAND_S)
        return process.returncode, out, errors


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with standin(tmp_path_factory.mktemp("standin")) as port:
        yield port


@pytest.fixture
def console(tmp_path: Path) -> Console:
    return Console(tmp_path)


@pytest.mark.slow
def test_a_measured_run_is_stored_with_all_that_must_be_known(console: Console, port: int, tmp_path: Path) -> None:
    record = tmp_path / "night.jsonl"
    rc, out, errors = console.run("bench", "local", "--server", str(port), *QUICK, "--json", "--record", str(record))
    assert rc == 0, errors
    run: dict[str, Any] = json.loads(out)
    assert run["schema"] == "gpudeck.run/1"
    point = run["points"][0]
    assert (point["concurrency"], point["failed"]) == (2, 0)
    assert point["output_tok_s"] > 50
    assert point["tok_s_gpu"] is None
    assert point["tok_s_gpu_reason"]
    assert "dummy_weights" in point["flags"]
    assert run["setup"]["model_sha"].startswith("config:")
    assert (run["setup"]["weights_kind"], run["setup"]["output_spec"]) == ("dummy", "fixed:16")
    stored = console.store.load(run["id"])
    assert len(stored.points) == 1
    events = {path.name for path in (console.store.root / run["id"] / "events").iterdir()}
    assert events == {"c0002-r0.json", "c0002-r0.ndjson.gz", "progress.ndjson"}
    info = json.loads((console.store.root / run["id"] / "server_info.json").read_text())
    assert info["version"] == "0.5.23"
    rc, out, errors = console.run("--replay", str(record), "--headless", "--json")
    assert rc == 0, errors
    assert [one["id"] for one in json.loads(out)["runs"]] == [run["id"]]


def test_the_price_is_told_before_anything_starts(console: Console, port: int) -> None:
    rc, out, _ = console.run("bench", "local", "--server", str(port), "--preset", "sweep", "--dry-run", "--json")
    plan = json.loads(out)
    assert rc == 0
    assert len(plan["points"]) == 9
    assert plan["likely_s"] < plan["longest_s"]
    assert console.store.runs() == []


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--concurrency", "0"), 2),
        (("--concurrency", "8,x"), 2),
        (("--dataset", "own:poems"), 2),
        (("--preset", "dance"), 2),
        (("--server", "1"), 1),
    ],
)
def test_mistakes_end_before_a_job_starts(console: Console, port: int, words: tuple[str, ...], code: int) -> None:
    server = () if "--server" in words else ("--server", str(port))
    rc, _, errors = console.run("bench", "local", *server, *words)
    assert rc == code, errors


@pytest.mark.slow
def test_a_killed_console_loses_nothing(console: Console, port: int) -> None:
    words = ("bench", "local", "--server", str(port), *QUICK, "--repeats", "2")
    first = console.start(*words)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and not any(run.points for run in console.store.runs()):
        time.sleep(0.1)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    rc, out, errors = console.run(*words, "--json")
    assert rc == 0, errors
    assert "runs already" in errors
    assert [point["repeat"] for point in json.loads(out)["points"]] == [0, 1]
    assert len(console.store.runs()) == 1
