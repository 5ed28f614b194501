"""Sessions on two H200s with the real SGLang 0.5.11 (random weights) replay to the end states that they had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.bench.acceptance import pool
from console.bench.timeline import Speculation
from console.payloads.load.backends import speculation
from console.values import known
from tests.acceptance.recordings import end_state

FOLDER = Path(__file__).parents[1] / "recordings" / "acceptance"
NAMES = sorted(path.name.partition(".")[0] for path in FOLDER.glob("*.jsonl*"))


@pytest.mark.parametrize("name", NAMES)
def test_it_replays_to_its_end_state(name: str) -> None:
    (recording,) = FOLDER.glob(f"{name}.jsonl*")
    assert end_state(recording) == json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


def test_the_end_states_are_those_of_a_box_that_served() -> None:
    ends = {name: json.loads((FOLDER / f"{name}.json").read_text("utf-8")) for name in NAMES}
    servers = {
        name: {one["recipe"]: one for host in end["hosts"].values() for one in host["servers"]}
        for name, end in ends.items()
    }
    assert servers["deploy-ar"]["ar"]["proved_by"] == "/health"  # this version has no /ready
    assert servers["deploy-tp2"]["tp2"]["phase"] == "ready"
    assert servers["resume-killed"]["ngram-b"]["phase"] == "imports"
    assert servers["resume-second"]["ngram-b"]["phase"] == "ready"
    stopped = servers["stop-tp2"]["tp2"]
    assert (stopped["phase"], stopped["signal"], stopped["memory_returned"]) == ("stopped", 9, True)
    stopped = servers["stop-ngram"]["ngram-b"]
    assert (stopped["phase"], stopped["memory_returned"]) == ("stopped", True)
    killed = servers["kill-scheduler"]["dflash"]
    assert (killed["phase"], killed["kind"], killed["cause_phase"]) == ("crashed", "killed", "ready")
    assert servers["oom"]["oom"]["cause_phase"] == "kv"
    assert [point["concurrency"] for point in ends["bench-ar"]["points"][0]] == [1, 8, 64]


def test_the_sweep_has_every_point_once_with_its_energy() -> None:
    end = json.loads((FOLDER / "sweep.json").read_text("utf-8"))
    ar, ngram, dflash = end["points"]
    for run in (ar, ngram, dflash):
        assert [point["concurrency"] for point in run] == [1, 8, 64]
        assert all(0.01 < point["energy_j_tok"] < 2 for point in run)
    assert all(point["accept_length"] is None for point in ar)
    assert all(point["accept_length"] > 11 for point in ngram)  # random weights repeat themselves
    assert all(point["accept_length"] < 1.01 for point in dflash)  # and are not what a random drafter says
    assert "server_cap" in ngram[2]["flags"]


@pytest.mark.parametrize("name", ["ngram", "dflash"])
def test_accept_length_is_that_of_the_requests_details(name: str) -> None:
    """`meta_info` of 256 other requests to /generate against what the load worker measured over streams at C = 8."""
    told = json.loads((FOLDER.parents[1] / "vectors" / "accept_details.json").read_text("utf-8"))[name]
    counters = [speculation(meta) for meta in told["details"]]
    pooled = pool([Speculation(*one[:3]) for one in counters if one is not None])
    assert len(counters) == 256
    assert known(pooled.accept_length)
    assert pooled.accept_length == pytest.approx(told["accept_length"], rel=0.01)
