"""From nothing to a served model and back, on the demo box: Hub, SSH, NVML and server are played, the path is real."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from console.config import load_config
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state import HostState
from console.values import known
from console.views.serve import main_server
from tests.support.patience import PATIENCE_S


def _holders(host: HostState) -> set[int]:
    gpus = host.hardware.gpus
    rows = [gpu.processes for gpu in gpus.values()] if known(gpus) else []
    return {process.pid for row in rows if known(row) for process in row}


@pytest.mark.slow
async def test_deploy_holds_memory_and_stop_gives_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    monkeypatch.chdir(tmp_path)
    config = load_config(cwd=tmp_path, env={})
    async with contextlib.AsyncExitStack() as resources:
        session = await resources.enter_async_context(LiveSession(Ways(config, None, None, resources), demo=True))
        session.add(config.host("demo"))
        session.start()
        assert await session.wait(lambda state: known(state.hosts["demo"].serve.listed), PATIENCE_S)
        host = session.state.hosts["demo"]
        assert session.deploy("demo", "demo", fetch=False) == ""
        assert await session.wait(lambda _: host.serve.deploy is not None and host.serve.deploy.state == "failed", 60)
        assert host.serve.deploy is not None
        assert "a deploy fetches it" in host.serve.deploy.sentence
        assert session.deploy("demo", "demo", fetch=True) == ""
        assert await session.wait(lambda _: host.serve.deploy is not None and host.serve.deploy.step == "ready", 120)
        server = main_server(host)
        assert server is not None
        assert server.seen is not None
        pids = set(server.seen.processes)
        assert server.smoke is not None
        assert server.smoke.ok
        assert await session.wait(lambda _: bool(_holders(host) & pids), PATIENCE_S)
        session.stop_server("demo", server.id)
        assert await session.wait(lambda _: server.memory is not None, 60)
        assert server.memory is not None
        assert server.memory.returned is True, server.memory.sentence
        assert server.phase == "stopped"
        assert not _holders(host) & pids
        assert session.deploy("demo", "no-such-recipe", fetch=True) != ""
