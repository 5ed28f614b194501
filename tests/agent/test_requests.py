"""The agent's requests, asked through the console's own side of the protocol."""

from __future__ import annotations

import base64
import json
import os
import stat
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from console.remote.agent import Agent
from console.remote.errors import AgentError
from console.remote.local import open_local_agent
from tests.support.agent import gone


@pytest.fixture
async def agent() -> AsyncIterator[Agent]:
    agent = await open_local_agent(sys.executable)
    yield agent
    await agent.close()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def run(agent: Agent, *argv: str, **args: Any) -> tuple[dict[str, Any], bytes, bytes]:
    outputs = {1: b"", 2: b""}
    async with agent.stream("exec", argv=list(argv), **args) as stream:
        async for part in stream:
            outputs[part["fd"]] += base64.b64decode(part["data"])
    assert stream.result is not None
    return stream.result, outputs[1], outputs[2]


async def refused(agent: Agent, op: str, **args: Any) -> str:
    with pytest.raises(AgentError) as caught:
        await agent.request(op, **args)
    return caught.value.code


async def test_words_arrive_byte_for_byte(agent: Agent) -> None:
    words = ['\'; "$(touch x)"\n', "a b", "", "$HOME", "*", "\\", "ü"]
    code = "import sys, json; print(json.dumps(sys.argv[1:])); sys.stderr.write('other'); sys.exit(7)"
    result, out, err = await run(agent, sys.executable, "-c", code, *words)
    assert (json.loads(out), err) == (words, b"other")
    assert result == {"exit_code": 7, "signal": None, "timed_out": False, "dropped_bytes": 0}


async def test_input_output_environment_and_folder(agent: Agent, tmp_path: Path) -> None:
    data = bytes(range(256)) * 400
    code = """import os, sys
sys.stdout.buffer.write(sys.stdin.buffer.read())
sys.stderr.write(os.environ["A"] + os.getcwd())"""
    result, out, err = await run(
        agent, sys.executable, "-c", code, stdin=encoded(data), env={"A": "x"}, cwd=str(tmp_path)
    )
    assert (result["exit_code"], out, err.decode()) == (0, data, f"x{tmp_path}")


async def test_input_can_come_later(agent: Agent) -> None:
    async with agent.stream("exec", argv=["cat"], feed=True) as stream:
        await stream.feed(b"one ")
        first = await anext(stream)
        await stream.feed(b"two", eof=True)
        rest = [part async for part in stream]
    assert base64.b64decode(first["data"]) == b"one "
    assert base64.b64decode(rest[0]["data"]) == b"two"


async def test_what_a_program_does_not_read_is_no_failure(agent: Agent) -> None:
    async with agent.stream("exec", argv=["true"], feed=True) as stream:
        assert [part async for part in stream] == []
        await stream.feed(b"x" * 300_000, eof=True)
    assert stream.result is not None
    assert stream.result["exit_code"] == 0


async def test_a_signal_a_timeout_and_a_bound(agent: Agent) -> None:
    killed, _, _ = await run(agent, "sh", "-c", "kill -9 $$")
    assert (killed["exit_code"], killed["signal"]) == (None, 9)
    slow, _, _ = await run(agent, "sh", "-c", "sleep 60 & wait", timeout_s=0.2)
    assert slow["timed_out"]
    much, out, _ = await run(agent, "sh", "-c", "head -c 100000 /dev/zero", max_bytes=10)
    assert (out, much["dropped_bytes"], much["exit_code"]) == (b"\0" * 10, 99990, 0)


async def test_what_cannot_be_run_is_refused(agent: Agent, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_text("x")
    assert await refused(agent, "exec", argv=["/no/such/program"]) == "not_found"
    assert await refused(agent, "exec", argv=[str(plain)]) == "permission"
    assert await refused(agent, "exec", argv=[]) == "bad_request"
    assert await refused(agent, "exec") == "bad_request"
    assert await refused(agent, "exec", argv=["true"], stdin="%") == "bad_request"
    assert await refused(agent, "fly") == "unknown_op"
    assert await refused(agent, "probe", name="weather") == "bad_request"


async def test_a_daemon_that_holds_the_output_does_not_hold_the_answer(agent: Agent) -> None:
    result, out, _ = await run(agent, "sh", "-c", "echo up; setsid sleep 3 & exit 0")
    assert (result["exit_code"], out) == (0, b"up\n")


async def test_cancel_kills_the_group(agent: Agent) -> None:
    async with agent.stream("exec", argv=["sh", "-c", "sleep 60 & echo $!; wait"]) as stream:
        child = int(base64.b64decode((await anext(stream))["data"]))
    assert await gone(child)


@pytest.mark.slow
async def test_a_child_that_ignores_the_request_to_end_is_killed(agent: Agent) -> None:
    script = "trap '' TERM; echo $$; while :; do sleep 0.05; done"
    async with agent.stream("exec", argv=["sh", "-c", script]) as stream:
        child = int(base64.b64decode((await anext(stream))["data"]))
    assert await gone(child)


async def test_the_end_of_the_agent_ends_its_programs_and_leaves_its_daemons() -> None:
    agent = await open_local_agent(sys.executable)
    # The daemon speaks for itself: until then it may still be in the group of its parent.
    script = "setsid sh -c 'echo daemon $$; exec sleep 600' & sleep 60 & echo child $!; wait"
    stream = await agent.stream("exec", argv=["sh", "-c", script]).start()
    text = b""
    while text.count(b"\n") < 2:
        text += base64.b64decode((await anext(stream))["data"])
    await agent.close()
    told = dict(line.split() for line in text.decode().splitlines())
    daemon, child = int(told["daemon"]), int(told["child"])
    try:
        assert await gone(child)
        assert Path(f"/proc/{daemon}").exists()
    finally:
        os.kill(daemon, 9)


async def test_write_read_stat_list_remove(agent: Agent, tmp_path: Path) -> None:
    path = tmp_path / "new" / "folder" / "file"
    data = os.urandom(1000)
    await agent.request("write", path=str(path), data=encoded(data), mode=0o640)
    assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    part = await agent.request("read", path=str(path), offset=990, max_bytes=100)
    assert (base64.b64decode(part["data"]), part["size"], part["inode"]) == (data[990:], 1000, path.stat().st_ino)
    assert await refused(agent, "write", path=str(path), data="", exclusive=True) == "exists"
    (path.parent / "link").symlink_to("nowhere")
    listed = (await agent.request("list", path=str(path.parent)))["entries"]
    assert [(entry["name"], entry["kind"], entry["size"]) for entry in listed] == [
        ("file", "file", 1000),
        ("link", "link", 7),
    ]
    entries = await agent.request("stat", paths=[str(path), str(path.parent / "link"), str(tmp_path / "x" / "y")])
    assert [entry and entry["size"] for entry in entries["entries"]] == [1000, None, None]
    await agent.request("remove", path=str(path))
    assert not path.exists()
    assert [entry.name for entry in path.parent.iterdir()] == ["link"], "a temporary file was left"


async def test_refusals_on_files(agent: Agent, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    assert await refused(agent, "read", path=str(tmp_path / "none")) == "not_found"
    assert await refused(agent, "read", path=str(tmp_path / "pipe")) == "bad_request"
    assert await refused(agent, "read", path="relative") == "bad_request"
    assert await refused(agent, "list", path=str(tmp_path / "file")) == "not_a_directory"
    assert await refused(agent, "write", path=str(tmp_path / "file" / "x"), data="") == "not_a_directory"
    assert await refused(agent, "remove", path=str(tmp_path)) == "io"


async def test_an_answer_longer_than_a_frame_arrives_whole(agent: Agent, tmp_path: Path) -> None:
    names = [f"{n:05}-" + "ü" * 100 for n in range(2000)]
    for name in names:
        (tmp_path / name).touch()
    assert [entry["name"] for entry in (await agent.request("list", path=str(tmp_path)))["entries"]] == names


async def test_tail_follows_a_log_through_rotation_and_truncation(agent: Agent, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("old line\n")
    async with agent.stream("tail", path=str(log), offset=0, every_s=0.05) as stream:
        first = await anext(stream)
        assert (first["offset"], base64.b64decode(first["data"]), first["event"]) == (0, b"old line\n", None)
        log.rename(tmp_path / "log.1")
        log.write_text("new\n")
        seen = [await anext(stream), await anext(stream)]
        assert [(part["event"], base64.b64decode(part["data"])) for part in seen] == [
            ("rotated", b""),
            (None, b"new\n"),
        ]
        os.truncate(log, 0)
        assert (await anext(stream))["event"] == "truncated"
        log.unlink()
        assert (await anext(stream))["event"] == "missing"
        log.write_text("again\n")
        last = [await anext(stream)]
        while not last[-1]["data"]:
            last.append(await anext(stream))
    assert base64.b64decode(last[-1]["data"]) == b"again\n"


async def test_tail_resumes_where_it_was(agent: Agent, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"0123456789")
    async with agent.stream("tail", path=str(log), offset=4, inode=log.stat().st_ino, every_s=0.05) as stream:
        part = await anext(stream)
    assert (part["offset"], base64.b64decode(part["data"])) == (4, b"456789")
    async with agent.stream("tail", path=str(log), offset=4, inode=1, every_s=0.05) as stream:
        other = [await anext(stream), await anext(stream)]
    assert other[0]["event"] == "rotated"
    assert (other[1]["offset"], base64.b64decode(other[1]["data"])) == (0, b"0123456789")
    async with agent.stream("tail", path=str(log), offset=-1, every_s=0.05) as stream:
        assert ((await anext(stream))["offset"], part["inode"]) == (10, log.stat().st_ino)
        with log.open("ab") as more:
            more.write(b"!")
        assert base64.b64decode((await anext(stream))["data"]) == b"!"
