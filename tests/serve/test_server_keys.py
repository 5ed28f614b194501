"""Screen 5's keys against a live server: accept, adopt, edit and retry, copy and save."""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from console.app import ConsoleApp
from console.config import load_config
from console.screens.deploy import DeployScreen
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state import HostState
from console.state.serve import ServerState
from console.views.serve import main_server
from tests.serve.conftest import KEY, Box
from tests.support.frames import until_shown
from tests.support.patience import PATIENCE_S
from tests.support.served import foreign_server, until
from widgets.dialog import ConfirmDialog, EditDialog

pytestmark = pytest.mark.slow


class Screen:
    """The console on `local`, and its keyboard."""

    def __init__(self, session: LiveSession, app: ConsoleApp, pilot: Pilot[None]) -> None:
        self.session, self.app, self.pilot = session, app, pilot
        self.host: HostState = session.state.hosts["local"]

    async def reach(self, test: Callable[[HostState], Any]) -> None:
        assert await self.session.wait(lambda _: bool(test(self.host)), PATIENCE_S)
        self.app.tick()
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    @property
    def clipboard(self) -> str:
        return self.app.clipboard


@contextlib.asynccontextmanager
async def console(box: Box, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Screen]:
    for name, value in box.gpudeck.env.items():
        if name.startswith("XDG_"):
            monkeypatch.setenv(name, value)
    monkeypatch.setenv("STANDIN_KEY", KEY)
    monkeypatch.chdir(box.gpudeck.laptop.directory)
    config = load_config(cwd=box.gpudeck.laptop.directory, env={})
    async with contextlib.AsyncExitStack() as resources:
        session = await resources.enter_async_context(LiveSession(Ways(config, None, None, resources)))
        session.add(config.host("local"))
        app = ConsoleApp(session)
        async with app.run_test(size=(120, 40)) as pilot:
            screen = Screen(session, app, pilot)
            await screen.reach(lambda host: host.link.state == "up")
            yield screen


async def test_a_failed_start_is_bundled_copied_edited_and_asked_again(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.recipe("bad", SGLANG_STANDIN_FAIL="kv_oom")
    async with console(box, monkeypatch) as screen:
        await screen.press("D", *"bad", "enter")
        await until_shown(screen.app, screen.pilot, "enter: deploy")
        await screen.press("enter")
        await screen.reach(lambda host: host.serve.deploy and host.serve.deploy.state == "failed")
        server = main_server(screen.host)
        assert server is not None
        await screen.reach(lambda host: server.ended and host.plan.packages)  # its versions are read after its end
        await screen.press("e")
        saved = box.gpudeck.home / "data" / "gpudeck" / "saved"
        bundle = json.loads((saved / f"{server.id}.json").read_text())
        assert bundle["schema"] == "gpudeck.failure/1"
        assert bundle["server"]["cause_phase"] == "kv"
        assert "--mem-fraction-static" in bundle["server"]["cause"]
        assert bundle["versions"]["sglang"] == "0.5.23"
        assert any("Scheduler hit an exception" in line for line in bundle["log"])
        assert "Scheduler hit an exception" in (saved / f"{server.id}.log").read_text()
        for path in saved.iterdir():
            assert path.stat().st_mode & 0o777 == 0o600
            assert KEY not in path.read_text()
        await screen.press("y")
        assert "crashed in kv" in screen.clipboard
        await screen.press("slash", *"hit an exc", "enter", "y")
        assert "Scheduler hit an exception" in screen.clipboard
        assert "\n" not in screen.clipboard.strip()
        await screen.press("E")
        assert isinstance(screen.app.screen, EditDialog)
        area = screen.app.screen.query_one(TextArea)
        area.text += "mem-fraction-static = 0.5\n"
        screen.app.screen.accept()
        await screen.pilot.pause()
        assert isinstance(screen.app.screen, DeployScreen)
        name = "bad+mem-fraction-static=0.5"
        await screen.reach(lambda host: host.plan.shown and host.plan.shown.recipe == name and host.plan.shown.verdict)
        await screen.press("escape")
        assert len(list(box.jobs.glob("serve-*"))) == 1


async def test_code_of_the_model_is_shown_as_data_before_it_is_accepted(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tmp_path / "own-code"
    model.mkdir()
    config = json.loads((box.model / "config.json").read_text())
    (model / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoConfig": "configuration_own.Own"}}))
    (model / "tokenizer.json").write_text("{}")
    (model / "configuration_own.py").write_text("class Own: ...\n")
    box.model = model
    box.recipe("own")
    recipes = box.gpudeck.laptop.directory / "gpudeck.toml"
    recipes.write_text(recipes.read_text().replace("args = { ", "args = { trust-remote-code = true, "))
    async with console(box, monkeypatch) as screen:
        await screen.press("D", *"own", "enter")
        await until_shown(screen.app, screen.pilot, "enter: look at what would be accepted")
        await screen.press("enter")
        dialog = screen.app.screen
        assert isinstance(dialog, ConfirmDialog)
        assert screen.app.focused is not None
        assert screen.app.focused.id == "no"
        shown = "\n".join(strip.text for strip in dialog.query_one("#dialog-lines").render_lines(dialog.region))
        assert "configuration_own.py" in shown
        assert "sha256 " in shown
        assert "--accept remote-code" in shown
        await screen.press("enter")  # no
        assert isinstance(screen.app.screen, DeployScreen)
        assert not box.jobs.exists()
        await screen.press("enter", "right", "enter")
        await screen.reach(lambda host: host.plan.shown and host.plan.shown.exit_code == 0)
        await screen.press("enter")
        await screen.reach(lambda host: host.serve.deploy and host.serve.deploy.step == "ready")


async def test_a_strangers_server_is_adopted_after_a_question(
    box: Box, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "foreign.log"
    with foreign_server(box.python, box.model, box.port, log):
        until(lambda: "fired up" in log.read_text())
        async with console(box, monkeypatch) as screen:

            def mine(host: HostState) -> list[ServerState]:
                return [one for one in host.serve.servers.values() if one.seen and one.seen.port == box.port]

            await screen.reach(mine)
            (server,) = mine(screen.host)
            monkeypatch.setattr("console.screens.server_keys.main_server", lambda _: server)
            await screen.press("A", "escape")
            assert server.seen is not None
            assert server.seen.owner == "foreign"
            await screen.press("A", "right", "enter")
            await screen.reach(lambda _: server.seen and server.seen.owner == "adopted")


async def test_two_consoles_that_deploy_one_recipe_at_once_follow_one_start(
    box: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.recipe("both")
    async with console(box, monkeypatch) as one, console(box, monkeypatch) as two:
        for screen in (one, two):
            await screen.press("D", *"both", "enter")
        for screen in (one, two):
            await screen.reach(lambda host: host.plan.shown and host.plan.shown.exit_code == 0)
        for screen in (one, two):
            await screen.press("enter")
        for screen in (one, two):
            await screen.reach(lambda host: host.serve.deploy and host.serve.deploy.state in ("done", "failed"))
            assert screen.host.serve.deploy
            assert (screen.host.serve.deploy.step, screen.host.serve.deploy.sentence) == ("ready", "")
        assert len(list(box.jobs.glob("serve-*"))) == 1
