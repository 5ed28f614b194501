"""The real SGLang 0.5.23 on the CPU, over a real sshd. `GPUDECK_REAL_SGLANG`: its directory (venv, models, lib)."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.gpudeck import Gpudeck
from tests.support.laptop import Laptop
from tests.support.requirements import need
from tests.support.served import free_port, until
from tests.support.sshd import need_sshd, sshd

ROOT = os.environ.get("GPUDECK_REAL_SGLANG", "")
START_S = 900.0

pytestmark = pytest.mark.slow
ARGS = (
    '{ load-format = "dummy", device = "cpu", attention-backend = "torch_native", disable-overlap-schedule = true, '
    "max-total-tokens = 8192, mem-fraction-static = 0.3, enable-metrics = true, disable-radix-cache = true, "
    "disable-cuda-graph = true, decode-log-interval = 5%s }"
)


class Real:
    """The command line, a box behind sshd, and recipes of the real server."""

    def __init__(self, directory: Path, alias: str, laptop: Laptop) -> None:
        self.gpudeck, self.alias, self.port = Gpudeck(laptop), alias, free_port()
        self.state = directory / "box-state"
        self.gpudeck.host(alias, XDG_STATE_HOME=str(self.state))
        self.recipes = laptop.directory / "gpudeck.toml"

    def recipe(self, name: str, more: str = "") -> str:
        env = {"SGLANG_USE_CPU_ENGINE": "1", "CUDA_VISIBLE_DEVICES": "", "LD_LIBRARY_PATH": f"{ROOT}/lib"}
        pairs = ", ".join(f"{key} = {json.dumps(value)}" for key, value in env.items())
        with self.recipes.open("a") as file:
            file.write(
                f'[recipes.{name}]\nmodel = "{ROOT}/models/tiny"\npython = "{ROOT}/venv/bin/python"\n'
                f"port = {self.port}\nargs = {ARGS % more}\nenv = {{ {pairs} }}\n"
            )
        return name

    def run(self, *words: str, exit_code: int = 0) -> str:
        done = self.gpudeck.run(*words, timeout_s=START_S)
        assert done.returncode == exit_code, done.stderr + done.stdout
        self.said = done.stderr
        return done.stdout

    def server(self, *words: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.run("serve", self.alias, "status", *words, "--json"))["server"]
        return found


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    need("sglang", bool(ROOT), "GPUDECK_REAL_SGLANG names no directory")
    need_sshd()
    laptop = Laptop(tmp_path)
    with sshd() as server:
        server.start()
        one = Real(tmp_path, laptop.ready(server), laptop)
        yield one
        for job in one.state.glob("gpudeck/jobs/serve-*"):
            one.gpudeck.run("jobs", one.alias, "stop", job.name, "--grace", "5")
            until(lambda job=job: (job / "drained.json").exists(), 60)  # type: ignore[misc]


def _alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def test_life_of_the_real_server(real: Real) -> None:
    """Deploy, phases, READY by proof, smoke test, load, a clean stop with nothing left."""
    real.recipe("tiny")
    recording = real.recipes.parent / "life.jsonl"
    server = json.loads(real.run("deploy", real.alias, "tiny", "--json", "--record", str(recording)))["server"]
    assert (server["phase"], server["proved_by"]) == ("ready", "/ready")
    assert server["smoke"]["tokens"] >= 1
    assert server["actuals"]["tokens"] == 8192
    assert server["limits"]["max_running_requests"] == 2048
    for phase in ("imports", "warmup"):
        assert f": {phase}" in real.said
    replayed = json.loads(real.run("--replay", str(recording), "--headless", "--json"))
    assert replayed["hosts"][real.alias]["servers"][0]["phase"] == "ready"
    live = real.server(server["id"])
    assert (live["running"], live["queued"]) == (0, 0)
    assert live["differences"] == []
    job = next(real.state.glob("gpudeck/jobs/serve-*"))
    pids = [int(child) for child in _tree(live["pid"])]
    assert len(pids) >= 3
    stopped = json.loads(real.run("serve", real.alias, "stop", server["id"], "--json"))["server"]
    assert (stopped["phase"], stopped["exit_code"]) == ("stopped", 0)
    assert _alive(pids) == []
    assert "Finished server process" in (job / "log").read_text()


def test_killed_scheduler_and_ngram_and_taken_port(real: Real) -> None:
    real.recipe("tiny")
    real.recipe("ngram", ', speculative-algorithm = "NGRAM"')
    server = json.loads(real.run("serve", real.alias, "start", "tiny", "--json"))["server"]
    real.recipe("other")
    real.run("serve", real.alias, "start", "other", exit_code=4)  # before anything is loaded
    assert "taken" in real.said
    scheduler = next(pid for pid in _tree(server["pid"]) if "scheduler" in Path(f"/proc/{pid}/cmdline").read_text())
    os.kill(scheduler, signal.SIGKILL)
    until(lambda: not _alive([server["pid"]]), 60)
    gone = real.server(server["id"])
    assert (gone["phase"], gone["kind"]) == ("crashed", "killed")
    began = time.monotonic()
    real.run("serve", real.alias, "start", "ngram", exit_code=1)
    assert time.monotonic() - began < START_S
    newest = max(job.name for job in real.state.glob("gpudeck/jobs/serve-*"))
    crashed = real.server(newest)
    assert (crashed["phase"], crashed["cause_phase"], crashed["kind"]) == ("crashed", "kv", "unclassified")
    assert "copy_all_layer_kv_cache_cpu" in crashed["cause"]


def _tree(pid: int) -> list[int]:
    """The process and all below it."""
    below = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [pid, *(one for child in below for one in _tree(child))]
