"""A tunnel to a port of the box, over a real SSH connection."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from pathlib import Path

import pytest

from console.config import load_config
from console.events.serve import TunnelChanged
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state import HostState
from console.workers import tunnel
from tests.support.patience import PATIENCE_S


async def _answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"served")
    writer.close()
    await writer.wait_closed()


async def test_tunnel_opens_serves_and_closes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("CONFIG", "DATA", "STATE", "CACHE"):
        monkeypatch.setenv(f"XDG_{kind}_HOME", str(tmp_path / kind.lower()))
    config = load_config(cwd=tmp_path, env={})
    async with contextlib.AsyncExitStack() as resources:
        server = await asyncio.start_server(_answer, "127.0.0.1", 0)
        box_port = server.sockets[0].getsockname()[1]
        session = await resources.enter_async_context(LiveSession(Ways(config, None, None, resources), demo=True))
        session.add(config.host("demo"))
        session.start()

        def demo() -> HostState:
            return session.state.hosts["demo"]

        def shown() -> TunnelChanged | None:
            return demo().serve.tunnel

        assert await session.wait(lambda _: demo().link.state == "up", PATIENCE_S)
        session.toggle_tunnel("demo", box_port)
        assert await session.wait(lambda _: shown() is not None, PATIENCE_S)
        opened = shown()
        assert opened is not None
        assert opened.local_port not in (0, box_port)
        reader, writer = await asyncio.open_connection("127.0.0.1", opened.local_port)
        assert await reader.read() == b"served"
        writer.close()
        await writer.wait_closed()
        session.toggle_tunnel("demo", box_port)
        assert await session.wait(lambda _: shown() is not opened, PATIENCE_S)
        closed = shown()
        assert closed is not None
        assert closed.local_port == 0
        with pytest.raises(OSError):
            await asyncio.open_connection("127.0.0.1", opened.local_port)
        server.close()
        await server.wait_closed()


class _Link:
    """A connection whose tunnel opens at once."""

    port = 4711
    closed = False

    async def forward(self, _port: int, *, address: str) -> _Link:
        self.address = address
        return self

    async def close(self) -> None:
        self.closed = True


async def test_a_tunnel_gives_way_when_too_much_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tunnel, "LOOK_S", 0.01)
    link, counted, told = _Link(), itertools.count(), list[TunnelChanged]()

    def facts() -> int:
        calls = next(counted)
        return 0 if calls < 2 else calls * 1000  # quiet while it opens, then a flood

    host = load_config(cwd=Path("/"), env={}).host("local")
    await tunnel.tunnel(host, HostState("local"), 30000, lambda: link, told.append, facts)  # type: ignore[arg-type, return-value]
    assert [one.local_port for one in told] == [4711, 0]
    assert "ssh -N -L 30000:127.0.0.1:30000" in told[-1].sentence
    assert link.closed
