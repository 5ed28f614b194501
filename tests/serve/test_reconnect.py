"""The link dies in every phase of a start: the server goes on, and is taken up where it was, once."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest

from console.config import load_config
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state.serve import ServerState
from tests.serve.conftest import Box
from tests.support.patience import PATIENCE_S
from tests.support.served import foreign_server


@pytest.mark.slow
async def test_a_start_survives_a_dying_link_in_each_phase(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in box.gpudeck.env.items():
        if name.startswith("XDG_"):
            monkeypatch.setenv(name, value)
    config = load_config(cwd=tmp_path, env={})
    log = tmp_path / "server.log"
    async with contextlib.AsyncExitStack() as resources:
        session = await resources.enter_async_context(LiveSession(Ways(config, None, None, resources)))
        session.add(config.host("local"))
        session.start()

        def server() -> ServerState | None:
            seen = session.state.hosts["local"].serve.servers.values()
            return next((one for one in seen if one.seen and one.seen.port == box.port), None)

        def phase() -> str:
            return one.phase if (one := server()) else ""

        async def dies() -> None:
            """Kill the agent, wait for the next one, and for the server to be known again."""
            link = session.box("local")
            assert link is not None
            os.kill(link.agent.hello["pid"], signal.SIGKILL)
            assert await session.wait(lambda _: session.box("local") not in (link, None), PATIENCE_S)
            revision = session.state.hosts["local"].revisions["serve"]
            assert await session.wait(lambda state: state.hosts["local"].revisions["serve"] > revision, PATIENCE_S)

        assert await session.wait(lambda _: session.box("local") is not None, PATIENCE_S)
        monkeypatch.setattr("tests.support.served.SPEED", "0.5")
        with foreign_server(box.python, box.model, box.port, log):
            for wanted in ("weights", "graphs", "ready"):
                assert await session.wait(lambda _, wanted=wanted: phase() == wanted, PATIENCE_S)  # type: ignore[misc]
                await dies()
            one = server()
            assert one is not None

            def texts() -> list[str]:
                return [str(row.text) for row in one.log]

            ready = "The server is fired up and ready to roll!"
            assert await session.wait(lambda _: ready in texts(), PATIENCE_S)
            assert one.phase == "ready"
            assert texts().count(ready) == 1
            assert len([text for text in texts() if text.startswith("Load weight end")]) == 1
            phases = [name for name, _, _ in one.phases]
            assert phases == ["imports", "distributed", "weights", "kv", "graphs", "warmup", "ready"]
            assert one.ended is None
