"""Two servers of one box, over a real SSH server: one on an address of its own, one that is being measured."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from console.app import ConsoleApp
from console.config import load_config
from console.events.host import GpusSampled
from console.events.serve import BenchmarkQuiet
from console.screens.serve import ServerScreen
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state.serve import ServerState
from tests.serve.conftest import Box
from tests.support.frames import until_shown
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port
from tests.support.served import foreign_server
from tests.support.sshd import Sshd, sshd

ADDRESS = "127.0.0.2"  # an address of the box that 127.0.0.1 does not reach


@pytest.fixture
def server() -> Iterator[Sshd]:
    with sshd() as one:
        yield one.start()


@pytest.fixture
async def session(
    box: Box, server: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LiveSession]:
    box.gpudeck.laptop.ready(server)
    for name, value in box.gpudeck.env.items():
        if name.startswith(("XDG_", "GPUDECK_")):
            monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    config = load_config(cwd=tmp_path, env={"GPUDECK_SSH_CONFIG": str(box.gpudeck.laptop.config)})
    async with contextlib.AsyncExitStack() as resources:
        ways = Ways(config, None, None, resources)
        one = await resources.enter_async_context(LiveSession(ways))
        one.add(config.host("box"))
        yield one


def on_port(session: LiveSession, port: int) -> ServerState | None:
    found = session.state.hosts["box"].serve.servers.values()
    return next((one for one in found if one.seen and one.seen.port == port), None)


def proved(session: LiveSession, port: int) -> bool:
    one = on_port(session, port)
    return bool(one and one.proved and one.gauges)


@pytest.mark.slow  # alone: the agent of any other test asks every server for its load
async def test_one_is_measured_the_other_is_watched_as_ever(box: Box, session: LiveSession, tmp_path: Path) -> None:
    other = free_port()
    session.publish(BenchmarkQuiet(host="box", quiet=True, port=box.port))
    session.start()
    logs = tmp_path / "measured.log", tmp_path / "other.log"
    metrics = "--enable-metrics"
    with (
        foreign_server(box.python, box.model, box.port, logs[0], metrics),
        foreign_server(box.python, box.model, other, logs[1], metrics),
    ):

        def source(port: int) -> str:
            one = on_port(session, port)
            return str(one.gauges.source) if one and one.proved and one.gauges else ""

        assert await session.wait(lambda _: bool(source(box.port) and source(other)), PATIENCE_S)
        assert (source(box.port), source(other)) == ("metrics", "loads")
    assert "/v1/loads" not in logs[0].read_text()
    assert "/v1/loads" in logs[1].read_text()


@pytest.mark.slow
async def test_a_server_on_one_address_of_the_box(box: Box, session: LiveSession, tmp_path: Path) -> None:
    app = ConsoleApp(session)
    with foreign_server(box.python, box.model, box.port, tmp_path / "log", "--host", ADDRESS):
        async with app.run_test(size=(140, 40)) as pilot:
            assert await session.wait(lambda _: proved(session, box.port), PATIENCE_S)
            host = session.state.hosts["box"]
            session.toggle_tunnel("box", box.port)
            assert await session.wait(lambda _: host.serve.tunnel is not None, PATIENCE_S)
            assert host.serve.tunnel is not None
            assert host.serve.tunnel.local_port, host.serve.tunnel.sentence
            assert "tiny" in await models(host.serve.tunnel.local_port)
            flood = asyncio.create_task(facts(session))
            assert await session.wait(
                lambda _: bool(host.serve.tunnel and not host.serve.tunnel.local_port), PATIENCE_S
            )
            flood.cancel()
            await app.switch_mode("server")
            app.tick()
            assert isinstance(app.screen, ServerScreen)
            await until_shown(app, pilot, f"ssh -N -L {box.port}:{ADDRESS}:{box.port} box")


async def models(port: int) -> str:
    """What the server at the near end of a tunnel serves."""
    return (await asked("127.0.0.1", port, "/v1/models")).decode()


async def asked(address: str, port: int, path: str) -> bytes:
    try:
        reader, writer = await asyncio.open_connection(address, port)
    except OSError:
        return b""
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer sk-byhand\r\n\r\n"
    writer.write(head.encode())
    answer = await reader.read()
    writer.close()
    return answer


async def facts(session: LiveSession) -> None:
    """400 facts a second."""
    while True:
        for _ in range(20):
            session.publish(GpusSampled(host="box", gpus=()))
        await asyncio.sleep(0.05)
