"""What networks and servers do to a connection: each end is seen, named, and loses nothing it need not lose."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from console.remote import agent as agent_module
from console.remote import errors, login
from console.remote.agent import Agent
from console.remote.connection import Connection
from tests.support.laptop import Laptop
from tests.support.patience import PATIENCE_S
from tests.support.ports import free_port
from tests.support.proxy import Proxy, proxy
from tests.support.sshd import Sshd


@pytest.fixture
def short_keepalive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three seconds instead of twenty until a silent link counts as lost."""
    monkeypatch.setattr(login, "KEEPALIVE_S", 1)
    monkeypatch.setattr(login, "KEEPALIVE_COUNT", 2)


@contextlib.asynccontextmanager
async def opened(laptop: Laptop, alias: str) -> AsyncIterator[tuple[Connection, Agent]]:
    connection = await laptop.connect(alias)
    try:
        agent = await connection.open_agent()
        try:
            yield connection, agent
        finally:
            await agent.close()
    finally:
        await connection.close()


def through(laptop: Laptop, server: Sshd, between: Proxy) -> str:
    """An alias of the server that leads through the proxy."""
    laptop.ready(server)
    laptop.trust(server.known_hosts_line(f"[127.0.0.1]:{between.port}"))
    return laptop.host("proxied", between.port, laptop.directory / "id_box")


async def refusal(laptop: Laptop, alias: str) -> errors.RemoteError:
    with pytest.raises(errors.RemoteError) as refused:
        await laptop.connect(alias)
    return refused.value


@contextlib.asynccontextmanager
async def answering(greeting: bytes, *, hang_up: bool) -> AsyncIterator[int]:
    """A server that sends a greeting and then nothing, or hangs up."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        writer.write(greeting)
        if hang_up:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for writer in writers:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def until(happened: Callable[[], bool], limit_s: float = PATIENCE_S) -> None:
    async with asyncio.timeout(limit_s):
        while not happened():  # noqa: ASYNC110 - processes and counters tell nobody when they change
            await asyncio.sleep(0.02)


async def test_a_closed_port_refuses(laptop: Laptop) -> None:
    refused = await refusal(laptop, laptop.host("closed", free_port()))
    assert isinstance(refused, errors.ConnectionRefused)
    assert (refused.exit_code, refused.retryable) == (3, True)


async def test_a_name_that_does_not_resolve_is_shown(laptop: Laptop) -> None:
    laptop.config.write_text("Host nowhere\n  HostName gpudeck.invalid\n")
    refused = await refusal(laptop, "nowhere")
    assert isinstance(refused, errors.NameNotFound)
    assert "gpudeck.invalid" in str(refused)


@pytest.mark.parametrize(
    ("greeting", "hang_up", "kind", "words"),
    [
        (b"", False, errors.ConnectTimeout, "said nothing within 1 s"),
        (b"SSH-2.0-silent\r\n", False, errors.ConnectTimeout, "said nothing within 1 s"),
        (b"", True, errors.ConnectDropped, "before the login was over"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", True, errors.ConnectDropped, ""),
        (b"SSH-1.5-ancient\r\n", True, errors.ConnectDropped, ""),
    ],
)
async def test_what_is_no_ssh_server(
    laptop: Laptop, greeting: bytes, hang_up: bool, kind: type[errors.RemoteError], words: str
) -> None:
    async with answering(greeting, hang_up=hang_up) as port:
        refused = await refusal(laptop, laptop.host("odd", port, None, "root", "ConnectTimeout 1"))
    assert isinstance(refused, kind)
    assert words in str(refused)
    assert str(refused).endswith((".", ")."))


async def test_a_connection_attempt_can_be_given_up_at_any_time(laptop: Laptop, plain_server: Sshd) -> None:
    async with answering(b"", hang_up=False) as port, proxy(plain_server.port) as between:
        between.delay_s = 0.05
        for alias in (laptop.host("mute", port), through(laptop, plain_server, between)):
            for wait_s in (0.0, 0.05, 0.15, 0.3, 0.5):
                attempt = asyncio.create_task(laptop.connect(alias))
                await asyncio.sleep(wait_s)
                attempt.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await attempt
        await until(lambda: not login._attempts)


async def test_packets_that_get_lost_are_a_timeout(laptop: Laptop) -> None:
    """A listener whose queue is full answers no further SYN."""
    with contextlib.ExitStack() as sockets:
        listener = sockets.enter_context(socket.socket())
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(3):
            queued = sockets.enter_context(socket.socket())
            queued.setblocking(False)
            queued.connect_ex(listener.getsockname())
        alias = laptop.host("lost", listener.getsockname()[1], None, "root", "ConnectTimeout 1")
        refused = await refusal(laptop, alias)
    assert isinstance(refused, errors.ConnectTimeout)
    assert "did not answer within 1 s" in str(refused)
    await until(lambda: not login._attempts)


async def test_few_connections_start_at_a_time(laptop: Laptop, server: Sshd) -> None:
    server.start("MaxStartups 4:100:4")
    alias = laptop.ready(server)
    connections = await asyncio.gather(*(laptop.connect(alias) for _ in range(9)))
    assert len({id(connection) for connection in connections}) == 9
    await asyncio.gather(*(connection.close() for connection in connections))


@pytest.mark.slow
@pytest.mark.usefixtures("short_keepalive")
async def test_a_frozen_server_is_noticed(laptop: Laptop, server: Sshd) -> None:
    server.start()
    async with opened(laptop, laptop.ready(server)) as (connection, agent):
        server.signal_sessions(signal.SIGSTOP)
        started = time.monotonic()
        with pytest.raises(errors.LinkLost):
            await agent.request("ping")
        assert time.monotonic() - started > 2.0
        assert agent.silence_s > 1.5
        with pytest.raises(errors.LinkLost):
            await agent.request("ping")
        await until(connection.is_closed)
        server.signal_sessions(signal.SIGCONT)


@pytest.mark.slow
async def test_an_agent_that_does_not_answer_is_lost_though_ssh_lives(
    laptop: Laptop, plain_server: Sshd, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_module, "PING_EVERY_S", 0.1)
    monkeypatch.setattr(agent_module, "PING_LIMIT_S", 1.0)
    async with opened(laptop, laptop.ready(plain_server)) as (connection, agent):
        await until(lambda: agent.rtt_s is not None)
        _signal_agent(agent, signal.SIGSTOP)
        with pytest.raises(errors.LinkLost, match="not answered for 1 s"):
            async for _ in agent.frames():
                pass
        assert not connection.is_closed()
        _signal_agent(agent, signal.SIGCONT)


def _signal_agent(agent: Agent, number: signal.Signals) -> None:
    os.kill(agent.hello["pid"], number)


async def test_killed_sessions_are_lost_at_once(laptop: Laptop, server: Sshd) -> None:
    server.start()
    async with opened(laptop, laptop.ready(server)) as (connection, agent):
        server.signal_sessions(signal.SIGKILL)
        with pytest.raises(errors.LinkLost) as lost:
            async for _ in agent.frames():
                pass
        assert not isinstance(lost.value, errors.AgentEnded)
        await until(connection.is_closed)


@pytest.mark.parametrize("fault", ["rst", "fin", pytest.param("corrupt", marks=pytest.mark.slow)])
async def test_a_cut_connection_gives_an_unknown_outcome(laptop: Laptop, plain_server: Sshd, fault: str) -> None:
    async with proxy(plain_server.port) as between, opened(laptop, through(laptop, plain_server, between)) as both:
        connection, agent = both
        waiting = asyncio.create_task(agent.request("exec", argv=["sleep", "30"]))
        await asyncio.sleep(0.1)
        if fault == "rst":
            between.reset()
        elif fault == "fin":
            between.finish()
        else:
            between.mode = "corrupt"
        with pytest.raises(errors.LinkLost) as lost:
            await asyncio.wait_for(waiting, PATIENCE_S)
        assert lost.value.retryable
        await until(connection.is_closed)


@pytest.mark.slow
async def test_a_two_second_blip_loses_nothing(laptop: Laptop, plain_server: Sshd) -> None:
    count = "import time\nfor i in range(300):\n print(i, flush=True)\n time.sleep(0.01)\n"
    async with proxy(plain_server.port) as between, opened(laptop, through(laptop, plain_server, between)) as both:
        _, agent = both
        printed = bytearray()
        longest_silence_s = 0.0
        async with agent.stream("exec", argv=[sys.executable, "-u", "-c", count]) as stream:
            async for part in stream:
                printed += base64.b64decode(part["data"])
                if between.mode == "pass" and b"\n50\n" in printed and not longest_silence_s:
                    between.mode = "blackhole"
                    await asyncio.sleep(2.0)
                    longest_silence_s = agent.silence_s
                    between.mode = "pass"
        assert longest_silence_s > 1.5
        assert printed.decode().split() == [str(number) for number in range(300)]
        assert stream.result is not None
        assert stream.result["exit_code"] == 0


@pytest.mark.slow
async def test_a_half_open_link_ends_the_agent_on_the_box(laptop: Laptop, plain_server: Sshd) -> None:
    async with proxy(plain_server.port) as between:
        connection = await laptop.connect(through(laptop, plain_server, between))
        agent = await connection.open_agent({"idle_s": 1})
        between.mode = "blackhole"
        await until(lambda: not Path(f"/proc/{agent.hello['pid']}").exists())
        between.mode = "pass"
        await agent.close()
        await connection.close()


async def test_the_round_trip_is_measured_over_a_slow_link(laptop: Laptop, plain_server: Sshd) -> None:
    async with proxy(plain_server.port) as between, opened(laptop, through(laptop, plain_server, between)) as both:
        _, agent = both
        await until(lambda: agent.rtt_s is not None)
        between.delay_s = 0.1
        started = time.monotonic()
        await agent.request("ping")
        assert time.monotonic() - started >= 0.2


async def test_a_forward_leads_to_the_boxs_own_port(laptop: Laptop, plain_server: Sshd) -> None:
    async with answering(b"hello from the box\n", hang_up=True) as port:
        connection = await laptop.connect(laptop.ready(plain_server))
        forward = await connection.forward(port)
        reader, writer = await asyncio.open_connection("127.0.0.1", forward.port)
        assert await reader.read() == b"hello from the box\n"
        writer.close()
        await writer.wait_closed()
        with pytest.raises(errors.ChannelRefused, match=f"Port {forward.port} of this machine"):
            await connection.forward(port, forward.port)
        await forward.close()
        await connection.close()
