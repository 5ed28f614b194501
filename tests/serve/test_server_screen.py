"""The wizard, the server and log panes, and the stop, on screen: a live session on this machine with the stand-in."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

import pytest

from console.app import ConsoleApp
from console.config import Config, load_config
from console.screens.deploy import DeployScreen
from console.screens.serve import LogPane, ServerScreen
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state import HostState
from console.views.serve import main_server
from tests.serve.conftest import KEY, Box
from tests.support.frames import until_shown
from tests.support.patience import PATIENCE_S


@pytest.fixture
def config(box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """This process is the laptop: its directories, and the recipes of `tmp_path`."""
    for name, value in box.gpudeck.env.items():
        if name.startswith("XDG_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("STANDIN_KEY", KEY)
    monkeypatch.chdir(tmp_path)
    return load_config(cwd=tmp_path, env={})


@pytest.mark.slow
async def test_deploy_watch_and_stop(box: Box, config: Config) -> None:
    box.recipe("tiny")
    async with contextlib.AsyncExitStack() as resources:
        session = await resources.enter_async_context(LiveSession(Ways(config, None, None, resources)))
        session.add(config.host("local"))
        app = ConsoleApp(session)
        async with app.run_test(size=(120, 40)) as pilot:

            async def reach(test: Callable[[HostState], object]) -> None:
                assert await session.wait(lambda state: bool(test(state.hosts["local"])), PATIENCE_S)
                await pilot.pause()

            await reach(lambda host: host.link.state == "up")
            await pilot.press("D")
            await pilot.press(*"tiny", "enter")
            await pilot.pause()
            assert isinstance(app.screen, DeployScreen)
            await pilot.press("escape")
            assert not isinstance(app.screen, DeployScreen)
            assert not list(box.jobs.glob("serve-*"))
            await pilot.press("D")
            await pilot.press(*"tiny", "enter")
            await until_shown(app, pilot, "enter: deploy")  # a verdict in the state may be the one of the first asking
            await pilot.press("enter")
            await reach(lambda host: host.serve.deploy and host.serve.deploy.state in ("done", "failed"))
            deployed = session.state.hosts["local"].serve.deploy
            assert deployed is not None
            assert deployed.step == "ready", deployed.sentence
            server = main_server(session.state.hosts["local"])
            assert server is not None
            assert server.phase == "ready"
            assert isinstance(app.screen, ServerScreen)
            app.tick()
            await pilot.pause()
            log = app.screen.query_one(LogPane).view
            assert "fired up and ready to roll" in log.text()
            assert KEY not in log.text()
            await pilot.press("X", "right", "enter")
            await reach(lambda host: host.serve.servers[server.id].memory)
            assert session.state.hosts["local"].serve.servers[server.id].phase == "stopped"
