"""The real SGLang 0.5.23 on the CPU, over a real sshd. `GPUDECK_REAL_SGLANG`: its directory (venv, models, lib)."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.killing import adopted, killed_at
from tests.support.real_sglang import START_S, Real, real_box
from tests.support.served import until

pytestmark = pytest.mark.slow
ADOPTED_S = 2.0


@pytest.fixture
def real(tmp_path: Path) -> Iterator[Real]:
    with real_box(tmp_path) as one:
        yield one


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


@pytest.mark.parametrize("phase", ["imports", "weights", "kv", "warmup"])
async def test_the_console_is_killed_in_a_phase(real: Real, phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one has the server within 2 s; stopped in that phase it is no crash, and nothing is left."""
    real.recipe("tiny")
    killed_at(real.gpudeck, ("deploy", real.alias, "tiny"), f": {phase}")
    found = await adopted(real.gpudeck, real.alias, real.port, monkeypatch)
    assert found is not None
    assert found.server.seen is not None
    assert found.took_s < ADOPTED_S
    if phase == "warmup":
        server = json.loads(real.run("deploy", real.alias, "tiny", "--json"))["server"]
        assert (server["id"], server["phase"]) == (found.server.id, "ready")
    pids = _tree(found.server.seen.pid)
    stopped = json.loads(real.run("serve", real.alias, "stop", found.server.id, "--json"))["server"]
    assert (stopped["phase"], stopped["cause"]) == ("stopped", None)
    assert _alive(pids) == []


def _tree(pid: int) -> list[int]:
    """The process and all below it."""
    below = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [pid, *(one for child in below for one in _tree(child))]
