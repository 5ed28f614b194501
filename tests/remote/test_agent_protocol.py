"""The laptop's side of the agent protocol, against the real agent on this machine and against a hostile box."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.remote import agent as agent_module
from console.remote import errors
from console.remote.agent import MAX_SAMPLES, Agent
from console.remote.frames import decode, find_hello
from console.remote.local import open_local_agent
from console.remote.pipe import MAX_FRAME, Ending, Lines
from console.remote.start import start_agent


class ScriptedPipe:
    """A box that says what the test tells it. The test reads `nonce` and requests from what was written."""

    def __init__(self) -> None:
        self.said: asyncio.Queue[bytes] = asyncio.Queue()
        self.written = b""
        self.closed = False
        self._gone = asyncio.Event()
        self._news = asyncio.Event()
        self._number = 0

    async def read(self) -> bytes:
        return await self.said.get()

    async def read_errors(self) -> bytes:
        await self._gone.wait()
        return b""

    async def write(self, data: bytes) -> None:
        self.written += data
        self._news.set()

    async def ended(self) -> Ending:
        return Ending(exit_code=0)

    async def close(self) -> None:
        self.closed = True
        self._gone.set()

    def say(self, kind: str, data: dict[str, Any], **more: Any) -> None:
        self.said.put_nowait(self.line(kind, data, **more))

    def line(self, kind: str, data: dict[str, Any], **more: Any) -> bytes:
        self._number += 1
        frame = {"v": 1, "n": self._number, "k": kind, "t": 1.5, "m": 2.5, "d": data, **more}
        return json.dumps(frame).encode() + b"\n"

    async def request(self, number: int) -> dict[str, Any]:
        """The laptop's request of that number, once it has come."""
        while True:
            lines = [line for line in self.written.splitlines() if line.startswith(b'{"id"')]
            if len(lines) >= number:
                found: dict[str, Any] = json.loads(lines[number - 1])
                return found
            self._news.clear()
            await self._news.wait()


@pytest.fixture
def nonce(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr("secrets.token_hex", lambda _: "feed" * 8)
    return "feed" * 8


async def scripted(nonce: str, before: bytes = b"") -> tuple[Agent, ScriptedPipe]:
    """An agent whose box is the test, past its hello and its first ping."""
    pipe = ScriptedPipe()
    pipe.said.put_nowait(before + pipe.line("hello", {"nonce": nonce, "hostname": "b\x1b[31mox"}))
    agent = await start_agent(pipe, "python3", {})
    await pipe.request(1)
    pipe.say("reply", {}, id=1)
    return agent, pipe


async def test_noise_before_the_hello_is_kept_clean(nonce: str) -> None:
    agent, _ = await scripted(nonce, b'motd {"v":1}\r\n\x1b]0;title\x07\xff\nglued {"k": 1')
    assert agent.noise == ('motd {"v":1}', "\\xff", 'glued {"k": 1')
    assert agent.hello["hostname"] == "box"
    await agent.close()


async def test_what_is_no_frame_is_counted_and_does_no_harm(nonce: str) -> None:
    agent, pipe = await scripted(nonce)
    bad = [b"", b"null", b"[]", b"{}", b'{"v":2,"n":1,"k":"x","t":1,"m":1,"d":{}}', b'{"v":1,"k":1}', b"\xff\xfe"]
    pipe.said.put_nowait(b"\n".join(bad) + b"\n")
    pipe.say("reply", {"for": "nobody"}, id=99)
    pipe.say("Fine", {"text": "\x1b[2Jred", "n": 1})
    async for frame in agent.frames():
        if frame.k == "Fine":
            break
    assert frame.d == {"text": "red", "n": 1}
    assert agent.malformed == len(bad)
    await agent.close()


async def test_a_line_without_end_ends_the_agent(nonce: str) -> None:
    agent, pipe = await scripted(nonce)
    pipe.said.put_nowait(b"x" * (MAX_FRAME + 1))
    with pytest.raises(errors.ProtocolError):
        async for _ in agent.frames():
            pass
    with pytest.raises(errors.ProtocolError):
        await agent.request("ping")
    await agent.close()


async def test_the_oldest_samples_are_dropped_and_answers_never(nonce: str) -> None:
    agent, pipe = await scripted(nonce)
    waiting = asyncio.create_task(agent.request("stat", paths=[]))
    await asyncio.sleep(0)
    for number in range(MAX_SAMPLES + 50):
        pipe.say("Sample", {"number": number})
    pipe.say("reply", {"entries": []}, id=2)
    assert await waiting == {"entries": []}
    agent_frames = agent.frames()
    numbers = [(await anext(agent_frames)).d.get("number") for _ in range(MAX_SAMPLES)]
    assert numbers[-1] == MAX_SAMPLES + 49
    assert agent.dropped >= 50
    await agent_frames.aclose()
    await agent.close()


async def test_a_long_answer_is_joined_from_its_chunks(nonce: str) -> None:
    agent, pipe = await scripted(nonce)
    waiting = asyncio.create_task(agent.request("list", path="/"))
    await asyncio.sleep(0)
    text = json.dumps({"entries": ["x" * 10]})
    pipe.say("part", {"chunk": text[:9]}, id=2)
    pipe.say("part", {"chunk": text[9:]}, id=2)
    pipe.say("reply", {"chunks": 2}, id=2)
    assert await waiting == {"entries": ["x" * 10]}
    await agent.close()


async def test_leaving_a_stream_early_cancels_it_on_the_box(nonce: str) -> None:
    agent, pipe = await scripted(nonce)
    async with agent.stream("tail", path="/log") as stream:
        pipe.say("part", {"data": "eA=="}, id=stream.id)
        assert await anext(stream) == {"data": "eA=="}
    request = await pipe.request(3)
    assert (request["op"], request["a"]) == ("cancel", {"target": stream.id})
    await agent.close()
    assert pipe.closed


async def test_the_end_of_the_program_ends_requests_with_an_unknown_outcome(nonce: str) -> None:
    agent, pipe = await scripted(nonce)
    waiting = asyncio.create_task(agent.request("write", path="/x"))
    await asyncio.sleep(0)
    pipe.said.put_nowait(b"")
    await asyncio.sleep(0)
    await pipe.close()
    with pytest.raises(errors.AgentEnded, match="exit code 0"):
        await waiting
    await agent.close()


async def test_a_request_longer_than_a_frame_is_refused_here(nonce: str) -> None:
    agent, _ = await scripted(nonce)
    with pytest.raises(ValueError, match="limit"):
        await agent.request("write", path="/x", data="x" * MAX_FRAME)
    await agent.close()


async def test_a_file_name_that_is_not_utf_8_survives() -> None:
    frame = decode(b'{"v":1,"n":1,"k":"part","t":1,"m":1,"d":{"name":"\\udcff"}}')
    assert frame is not None
    assert frame.d == {"name": "\udcff"}


@given(st.binary(max_size=400), st.lists(st.integers(1, 40), max_size=60))
def test_lines_are_the_same_however_the_stream_is_cut(data: bytes, sizes: list[int]) -> None:
    lines, found, start = Lines(), [], 0
    for size in [*sizes, len(data)]:
        found += lines.feed(data[start : start + size])
        start += size
    assert [*found, lines.rest] == data.split(b"\n")


@given(st.binary(max_size=200).filter(lambda noise: b"\n" not in noise))
def test_the_hello_is_found_behind_any_noise(noise: bytes) -> None:
    hello = b'{"v":1,"n":1,"k":"hello","t":1,"m":1,"d":{"nonce":"abc123"}}'
    found = find_hello(noise + hello, "abc123")
    assert found is not None
    assert found[0] == noise
    assert find_hello(noise + hello, "abc124") is None


async def test_the_real_agent_here_runs_programs_and_streams() -> None:
    agent = await open_local_agent()
    try:
        async with agent.stream("exec", argv=["cat"], feed=True) as stream:
            sent = bytes(range(256)) * 1500
            await stream.feed(sent, eof=True)
            received = b"".join([base64.b64decode(part["data"]) async for part in stream])
        assert received == sent
        with pytest.raises(errors.AgentError) as refused:
            await agent.request("read", path="/nonexistent", offset=0, max_bytes=1)
        assert refused.value.code == "not_found"
        with pytest.raises(errors.AgentError, match="unknown_op"):
            await agent.request("frobnicate")
    finally:
        await agent.close()
    assert isinstance(agent.end, errors.LinkLost)


async def test_a_program_that_gives_no_answer_says_its_last_words(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mute"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "main.py").write_text(
        "import sys, json\n\ndef main(config):\n"
        "    if 'say' in config:\n        print('noise')\n        print(json.dumps(config))\n        return 0\n"
        "    sys.exit('no \\x1b[31mwords')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    agent = await open_local_agent()
    try:
        assert await agent.run_program("python3", "mute", {"say": "é"}) == {"say": "é"}
        with pytest.raises(errors.AgentError, match=r"no words \(failed\)"):
            await agent.run_program("python3", "mute", {})
    finally:
        await agent.close()


async def test_a_python_that_is_not_here_is_named() -> None:
    with pytest.raises(errors.NoPython, match="no-such-python"):
        await open_local_agent("no-such-python")


async def test_pings_become_frames_with_the_round_trip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_module, "PING_EVERY_S", 0.05)
    agent = await open_local_agent()
    async for frame in agent.frames():
        if frame.k == "pong":
            break
    assert frame.d["rtt_s"] == agent.rtt_s
    await agent.close()
