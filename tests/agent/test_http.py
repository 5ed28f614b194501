"""`http`: servers on the box's loopback, well-behaved and not."""

from __future__ import annotations

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from console.remote.agent import Agent
from console.remote.errors import AgentError
from console.remote.local import open_local_agent


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    agent = await open_local_agent(sys.executable)
    yield agent
    await agent.close()


@asynccontextmanager
async def server(answer: bytes, *, close: bool = True) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Answers every request with these bytes; the requests are kept."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.read(65536))
        writer.write(answer)
        await writer.drain()
        if not close:
            await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        yield f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}", asked


async def get(agent: Agent, url: str, **args: object) -> tuple[int, bytes]:
    reply = await agent.request("http", url=url, **{"method": "GET", "timeout_s": 5.0, **args})
    return reply["status"], base64.b64decode(reply["body"])


@pytest.mark.parametrize("close", [True, False])
async def test_an_answer_with_its_length(agent: Agent, close: bool) -> None:
    async with server(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: b\r\n\r\nhello", close=close) as (url, asked):
        assert await get(agent, f"{url}/health?x=1", headers={"Authorization": "Bearer k"}) == (200, b"hello")
    assert asked[0].startswith(b"GET /health?x=1 HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer k\r\n" in asked[0]


async def test_a_body_is_posted_and_chunks_are_joined(agent: Agent) -> None:
    chunks = b"5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n"
    async with server(b"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks) as (url, asked):
        body = base64.b64encode(b"{}").decode()
        assert await get(agent, url, method="POST", body=body) == (503, b"hello world")
    assert b"\r\nContent-Length: 2\r\n" in asked[0]
    assert asked[0].endswith(b"\r\n\r\n{}")


async def test_a_large_answer_arrives_whole(agent: Agent) -> None:
    body = bytes(range(256)) * 4000
    async with server(b"HTTP/1.0 200 OK\r\n\r\n" + body) as (url, _):
        assert await get(agent, url) == (200, body)


async def test_secrets_do_not_leave_the_box(agent: Agent) -> None:
    told = {"api_key": "k", "admin_api_key": None, "args": [{"hf_token": "t", "max_tokens": 5, "tokenizer_path": "p"}],
            "command": "serve --x hf_abcdefghijklmnopqrstuvwx --api-key plain --tp 2 --hf-token=x",
            "proxy": "http://u:p@h:1/"}  # fmt: skip
    async with server(b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(told).encode()) as (url, _):
        _, body = await get(agent, url, strip_keys=True)
        _, plain = await get(agent, url)
    assert json.loads(plain) == told
    assert json.loads(body) == {
        "api_key": "***",
        "admin_api_key": None,
        "args": [{"hf_token": "***", "max_tokens": 5, "tokenizer_path": "p"}],
        "command": "serve --x *** --api-key *** --tp 2 --hf-token=***",
        "proxy": "http://***@h:1/",
    }


async def test_only_the_box_itself_is_asked_and_heads_stay_whole(agent: Agent) -> None:
    for url, headers in [
        ("http://10.0.0.1/", {}),
        ("https://127.0.0.1/", {}),
        ("http://localhost.evil.test/", {}),
        ("http://127.0.0.1/", {"A": "b\r\nC: d"}),
    ]:
        with pytest.raises(AgentError) as caught:
            await get(agent, url, headers=headers)
        assert caught.value.code == "bad_request"


@pytest.mark.parametrize(
    ("answer", "code"),
    [(b"", "io"), (b"SSH-2.0-x\r\n\r\n", "io"), (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", "io")],
)
async def test_no_whole_answer_is_an_error(agent: Agent, answer: bytes, code: str) -> None:
    async with server(answer) as (url, _):
        with pytest.raises(AgentError) as caught:
            await get(agent, url)
    assert caught.value.code == code


async def test_a_server_on_an_address_of_the_box_alone_is_asked(agent: Agent) -> None:
    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        writer.close()

    one = await asyncio.start_server(answer, "127.0.0.9", 0)
    async with one:
        got = await get(agent, f"http://127.0.0.9:{one.sockets[0].getsockname()[1]}/")
    assert got == (200, b"ok")


async def test_refused_and_silent(agent: Agent) -> None:
    async with server(b"", close=False) as (url, _):
        with pytest.raises(AgentError) as silent:
            await get(agent, url, timeout_s=0.2)
    with pytest.raises(AgentError) as nobody:
        await get(agent, url)
    assert (silent.value.code, nobody.value.code) == ("timeout", "refused")
