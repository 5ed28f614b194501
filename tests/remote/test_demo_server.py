"""The loopback server that plays a box."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from console.remote import errors
from console.remote.agent import Agent
from console.remote.connection import Connection, connect
from console.remote.demo_server import DemoServer, demo_server
from tests.support.patience import COMMAND_S
from tests.support.sshd import keygen


@contextlib.asynccontextmanager
async def demo(directory: Path, **env: str) -> AsyncIterator[tuple[DemoServer, Connection, Agent]]:
    """The server, and an agent on it over SSH."""
    async with demo_server(directory, {"PATH": os.environ["PATH"], **env}) as server:
        connection = await connect(server.alias, ssh_config=server.ssh_config)
        agent = await connection.open_agent()
        try:
            yield server, connection, agent
        finally:
            await agent.close()
            await connection.close()


async def output_of(agent: Agent, *argv: str) -> str:
    async with agent.stream("exec", argv=list(argv)) as stream:
        return b"".join([base64.b64decode(part["data"]) async for part in stream]).decode()


async def ssh(server: DemoServer, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """The real client against this server."""
    command = ["ssh", "-F", str(server.ssh_config), *words]
    return await asyncio.to_thread(subprocess.run, command, input=stdin, capture_output=True, timeout=COMMAND_S)


async def test_it_runs_in_its_directory_with_its_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEFT_AT_HOME", "secret")
    async with demo(tmp_path, DEMO="yes") as (_, _, agent):
        said = await output_of(agent, "sh", "-c", "pwd; echo $DEMO $LEFT_AT_HOME")
    assert said == f"{tmp_path}\nyes\n"


async def test_the_agent_ends_with_its_connection(tmp_path: Path) -> None:
    async with demo(tmp_path) as (_, connection, agent):
        await connection.close()
        with pytest.raises(errors.LinkLost):
            async for _ in agent.frames():
                pass
    assert not Path(f"/proc/{agent.hello['pid']}").exists()


async def test_exit_codes_and_signals_pass(tmp_path: Path) -> None:
    async with demo(tmp_path) as (server, _, _):
        ended = await ssh(server, server.alias, "cat; exit 9", stdin=b"in and out")
        assert (ended.returncode, ended.stdout) == (9, b"in and out")
        assert (await ssh(server, server.alias, "kill -9 $$")).returncode == 255


@pytest.mark.parametrize("term", ["xterm-256color", ""])
async def test_a_terminal_is_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setenv("TERM", term)
    async with demo(tmp_path) as (server, _, _):
        ended = await ssh(server, "-tt", server.alias, "test -t 0 && echo yes $TERM")
    assert ended.stdout.split() == [b"yes", term.encode() or b"dumb"]


async def test_a_stranger_is_not_let_in(tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    await asyncio.to_thread(keygen, stranger)
    async with demo(tmp_path) as (server, _, _):
        config = server.ssh_config.read_text()
        own_key = next(line for line in config.splitlines() if "IdentityFile" in line)
        server.ssh_config.write_text(config.replace(own_key, f"  IdentityFile {stranger}"))
        denied = await ssh(server, "-o", "BatchMode=yes", server.alias, "true")
    assert denied.returncode == 255
    assert b"Permission denied" in denied.stderr


async def test_forwards_lead_to_the_box_alone(tmp_path: Path) -> None:
    async with demo(tmp_path) as (server, _, _):
        outside = await ssh(server, "-W", "192.0.2.1:80", server.alias)
        inside = await ssh(server, "-W", f"127.0.0.1:{server.port}", server.alias)
    assert outside.returncode == 255
    assert inside.stdout.startswith(b"SSH-2.0-")
