"""Sessions on two H200s with the real SGLang 0.5.11 (random weights) replay to the end states that they had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.acceptance.recordings import end_state

FOLDER = Path(__file__).parents[1] / "recordings" / "acceptance"
NAMES = sorted(path.stem for path in FOLDER.glob("*.json"))


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
    killed = servers["kill-scheduler"]["ngram-b"]
    assert (killed["phase"], killed["kind"], killed["cause_phase"]) == ("crashed", "killed", "ready")
    assert servers["oom"]["oom"]["cause_phase"] == "kv"
    assert [point["concurrency"] for point in ends["bench-ar"]["points"][0]] == [1, 8, 64]
