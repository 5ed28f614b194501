"""A unit's journal read like a log file, and the key of a server used on the box alone; `journalctl` is played."""

from __future__ import annotations

import asyncio
import base64
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from console.remote.agent import Agent
from console.remote.errors import AgentError
from console.remote.local import open_local_agent

NAME = "journal:system:llm.service:abc"
# Prints the lines behind `--after-cursor`, and the number of all of them as the cursor.
PLAYED = """#!/bin/sh
echo "$*" >> "$JOURNAL.asked"
[ -e "$JOURNAL" ] || exit 1
after=0
while [ $# -gt 0 ]; do [ "$1" = --after-cursor ] && after=$2; shift; done
tail -n "+$((after + 1))" "$JOURNAL"
echo "-- cursor: $(wc -l < "$JOURNAL")"
"""


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[tuple[Agent, Path]]:
    tool, lines = tmp_path / "bin" / "journalctl", tmp_path / "lines"
    tool.parent.mkdir()
    tool.write_text(PLAYED)
    tool.chmod(0o755)
    agent = await open_local_agent(
        sys.executable, {"PATH": f"{tool.parent}:{os.environ['PATH']}", "JOURNAL": str(lines)}
    )
    yield agent, lines
    await agent.close()


def text(part: dict[str, Any]) -> str:
    return base64.b64decode(part["data"]).decode()


async def test_a_journal_is_read_by_offset_and_masked(journal: tuple[Agent, Path]) -> None:
    agent, lines = journal
    lines.write_text("begin\nserver_args={'api_key': 'sk-secret-of-the-unit'}\n")
    whole = await agent.request("log_read", path=NAME)
    assert text(whole) == "begin\nserver_args={'api_key': '***'}\n"
    assert whole["next"] == whole["size"] == len(lines.read_text())
    with lines.open("a") as file:
        file.write("more\n")
    more = await agent.request("log_read", path=NAME, offset=whole["next"])
    assert (text(more), more["inode"]) == ("more\n", whole["inode"])
    assert text(await agent.request("log_read", path=NAME, offset=0, end=6)) == "begin\n"
    asked = Path(f"{lines}.asked").read_text().splitlines()
    assert "--unit=llm.service _SYSTEMD_INVOCATION_ID=abc --lines" in asked[0]
    assert "--after-cursor 2" in asked[1]


async def test_a_journal_is_followed_from_where_another_agent_stopped(journal: tuple[Agent, Path]) -> None:
    agent, lines = journal
    lines.write_text("one\ntwo\n")
    first = await agent.request("log_read", path=NAME)
    with lines.open("a") as file:
        file.write("three\n")
    async with agent.stream("log_follow", path=NAME, offset=first["next"], inode=first["inode"]) as stream:
        part = await anext(aiter(stream))
    assert (text(part), part["event"], part["offset"]) == ("three\n", None, first["next"])


async def test_a_journal_that_cannot_be_read_says_so(journal: tuple[Agent, Path]) -> None:
    agent, _ = journal
    with pytest.raises(AgentError) as refused:
        await agent.request("log_read", path=NAME)
    assert refused.value.code == "permission"


@pytest.mark.parametrize("plant", [lambda path: path.symlink_to("/dev/zero"), os.mkfifo], ids=["device", "pipe"])
async def test_a_configuration_that_a_strangers_process_names_has_an_end(
    plant: Callable[[Path], object], tmp_path: Path
) -> None:
    """Whoever runs something beside us chooses its words: the agent reads no device and waits for no pipe."""
    plant(tmp_path / "config.yaml")
    agent = await open_local_agent(sys.executable)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", "--config", "config.yaml", cwd=tmp_path, stdin=subprocess.PIPE
    )
    start = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
    try:
        with pytest.raises(AgentError) as refused:
            await agent.request("http", url="http://127.0.0.1:9/", process=[process.pid, start])
        assert refused.value.code == "refused", "it was asked, without a key"
    finally:
        process.kill()
        await process.wait()
        await agent.close()


KEY = "sk-0123456789-kept-on-the-box"
FILES = (f'api-key: "{KEY}"\nport: 1\n', f"port: 1\napi_key: {KEY} # mine\n", f"api-key: '{KEY}'\n")


@pytest.mark.parametrize("words", [["--api-key", KEY], [f"--api_key={KEY}"], *(["--config", one] for one in "012")])
async def test_the_key_of_a_server_is_used_on_the_box_and_does_not_leave_it(tmp_path: Path, words: list[str]) -> None:
    for number, content in enumerate(FILES):
        (tmp_path / str(number)).write_text(content)
    heads: list[bytes] = []

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\n\r\nyou sent " + heads[-1])
        writer.close()

    agent = await open_local_agent(sys.executable)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", "input()", *words, cwd=tmp_path, stdin=subprocess.PIPE
    )
    start = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[19])
    try:
        async with await asyncio.start_server(echo, "127.0.0.1", 0) as server:
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/loads"
            answer = await agent.request("http", url=url, process=[process.pid, start])
            assert f"\r\nAuthorization: Bearer {KEY}\r\n".encode() in heads[0]
            assert KEY.encode() not in base64.b64decode(answer["body"])
            await agent.request("http", url=url, process=[process.pid, start + 1])  # the pid is another's now
            assert b"Authorization" not in heads[1]
    finally:
        await process.communicate(b"\n")
        await agent.close()
