"""While somebody measures, a server without `/ready` is proved by what it serves, not by a request of ours.

Seen on H200s with SGLang 0.5.11: a console that was opened during a measurement called the measured server warming up.
"""

from __future__ import annotations

import base64
from typing import Any, cast

import pytest

from console.events.serve import Server
from console.remote.agent import Agent
from console.values import CleanText
from console.workers import server_http
from console.workers.server_http import ServerHttp

NONE = CleanText("")


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_http, "BETWEEN_COUNTS_S", 0.0)


METRIC = 'sglang:realtime_tokens_total{mode="decode",tp_rank="0"} %d.0\n'


class OldServer:
    """No `/ready`; `/metrics` tells these counts one after the other; `/health` would answer."""

    def __init__(self, *decoded: int) -> None:
        self.decoded = list(decoded)
        self.asked: list[str] = []

    async def request(self, _op: str, **given: Any) -> dict[str, Any]:
        path = str(given["url"]).rpartition("/")[2]
        self.asked.append(path)
        if path == "ready":
            return {"status": 404, "body": ""}
        text = METRIC % self.decoded.pop(0) if path == "metrics" else ""
        return {"status": 200, "body": base64.b64encode(text.encode()).decode()}


def http(agent: OldServer) -> ServerHttp:
    server = Server(
        id=CleanText("s"), pid=1, start=1, started_s=0.0, boot_id=NONE, owner="ours", job=NONE, user=NONE, argv=(),
        cwd=NONE, unit=NONE, unit_scope=NONE, container=NONE, log_path=NONE, processes=(),
        address=CleanText("127.0.0.1"), port=30000, listening=True,
    )  # fmt: skip
    return ServerHttp(cast(Agent, agent), server)


async def test_tokens_that_grow_prove_it() -> None:
    agent = OldServer(9_000, 21_000)
    assert await http(agent).proof(quiet=True) == "token"  # at the first look: `status` has no other
    assert "health" not in agent.asked


async def test_slow_ones_do_at_the_next_look() -> None:
    asked = http(OldServer(9_000, 9_040, 9_200))
    assert [await asked.proof(quiet=True) for _ in range(2)] == [None, "token"]


async def test_its_own_warm_up_does_not() -> None:
    asked = http(OldServer(0, 8, 8, 8))
    assert [await asked.proof(quiet=True) for _ in range(3)] == [None, None, None]


async def test_out_of_quiet_it_is_asked() -> None:
    assert await http(OldServer()).proof() == "/health"
