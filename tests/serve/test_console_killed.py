"""The console is killed in each step of a deploy and in each phase of a start: the next one has the server at once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.serve.conftest import KEY, Box
from tests.support.killing import adopted, killed_at
from tests.support.served import until

pytestmark = pytest.mark.slow
ADOPTED_S = 20.0  # on a slow machine; `make perf` measures it against its budget of 2 s
ORDER = ("imports", "distributed", "weights", "kv", "graphs", "warmup", "ready")


@pytest.mark.parametrize("phase", ORDER[:-1])
async def test_in_each_phase_of_a_start(box: Box, phase: str, monkeypatch: pytest.MonkeyPatch) -> None:
    box.recipe("slow", SGLANG_STANDIN_SPEED="1")
    killed_at(box.gpudeck, ("deploy", "local", "slow"), f": {phase}", STANDIN_KEY=KEY)
    found = await adopted(box.gpudeck, "local", box.port, monkeypatch)
    assert found is not None
    assert found.took_s < ADOPTED_S
    assert found.server.phase in ORDER[ORDER.index(phase) :]
    assert len(list(box.jobs.glob("serve-*"))) == 1
    if phase != "weights":
        return
    # the same command goes on with the same server, to its end
    done = box.gpudeck.run("deploy", "local", "slow", "--json", STANDIN_KEY=KEY)
    assert done.returncode == 0, done.stderr
    server = json.loads(done.stdout)["server"]
    assert (server["id"], server["phase"], server["smoke"]["ok"]) == (found.server.id, "ready", True)


async def test_in_the_preflight_and_in_the_smoke_test(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.recipe("tiny")
    killed_at(box.gpudeck, ("deploy", "local", "tiny"), "preflight", STANDIN_KEY=KEY)
    assert not list(box.jobs.glob("serve-*"))  # nothing was begun
    assert await adopted(box.gpudeck, "local", box.port, monkeypatch) is None
    killed_at(box.gpudeck, ("deploy", "local", "tiny"), ": READY", STANDIN_KEY=KEY)
    found = await adopted(box.gpudeck, "local", box.port, monkeypatch)
    assert found is not None
    assert found.took_s < ADOPTED_S
    assert (found.server.phase, found.server.proved is not None) == ("ready", True)
    box.serve("start", "tiny")  # follows, and asks again
    assert "smoke test: 'The capital of France is Paris.'" in box.said


async def test_while_it_stops(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    box.recipe("tiny")
    box.serve("start", "tiny")
    (job,) = box.jobs.glob("serve-*")
    killed_at(box.gpudeck, ("serve", "local", "stop"), "Stopping", STANDIN_KEY=KEY)
    box.serve("stop")  # asks again where the first one was killed before it had asked
    until(lambda: Path(job / "exit.json").exists())
    server = box.server(job.name)
    assert (server["phase"], server["exit_code"]) == ("stopped", 0)
