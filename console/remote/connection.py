"""An open SSH connection through all its hops, and the agents on it. Imports asyncssh: import it in a thread."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import asyncssh

from console.remote.agent import Agent
from console.remote.asker import Asker
from console.remote.bundle import STAGE0
from console.remote.errors import ChannelRefused, HostKeyUnexpected, NoPython, SshConfigError
from console.remote.login import Login, Opened
from console.remote.pipe import Ending
from console.remote.ssh_config import Hop, resolve
from console.remote.start import AGENT_PACKAGE, start_agent
from console.remote.vault import Secrets
from console.remote.wording import CONNECT_FAILURES, explain_session
from console.values import CleanText

_CLOSE_LIMIT_S = 3.0
_MAX_CONNECTING = 4
_STAGGER_S = 0.15
_SESSION_RETRIES_S = (0.05, 0.2, 0.5)
# What every login shell passes on unchanged; the path of an interpreter is the one word that is not constant.
_PLAIN_PATH = re.compile(r"~?[A-Za-z0-9_./+@-]+")


class ChannelPipe:
    """A Pipe over one SSH session channel."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes], hop: Hop) -> None:
        self._process, self._hop = process, hop

    async def read(self) -> bytes:
        return await self._read(self._process.stdout)

    async def read_errors(self) -> bytes:
        return await self._read(self._process.stderr)

    async def _read(self, stream: asyncssh.SSHReader[bytes]) -> bytes:
        try:
            return await stream.read(65536)
        except CONNECT_FAILURES as error:
            raise explain_session(error, self._hop) from None

    async def write(self, data: bytes) -> None:
        try:
            self._process.stdin.write(data)
            await self._process.stdin.drain()
        except BrokenPipeError:
            return  # the program is gone: the reading side tells how
        except CONNECT_FAILURES as error:
            raise explain_session(error, self._hop) from None

    async def ended(self) -> Ending:
        await self._process.wait_closed()
        if self._process.exit_signal is not None:
            return Ending(signal=self._process.exit_signal[0])
        return Ending(exit_code=self._process.exit_status)

    async def close(self) -> None:
        with contextlib.suppress(*CONNECT_FAILURES):
            self._process.stdin.write_eof()
        with contextlib.suppress(*CONNECT_FAILURES):
            async with asyncio.timeout(_CLOSE_LIMIT_S):
                await self._process.wait_closed()
        self._process.close()


class Forward:
    """A port of this machine's loopback that leads to a port of the box's loopback."""

    def __init__(self, listener: asyncssh.SSHListener) -> None:
        self._listener = listener

    @property
    def port(self) -> int:
        return self._listener.get_port()

    async def close(self) -> None:
        self._listener.close()
        await self._listener.wait_closed()


class Connection:
    """One box, logged in to. One session channel serves the agent; forwards use none.

    `via`: the hops before the box. `banner`: what the servers said before the login. `notes`: where the SSH
    configuration was not obeyed because it would trust blindly.
    """

    def __init__(self, opened: tuple[Opened, ...], python: str | None, env: Mapping[str, str]) -> None:
        self._opened = opened
        self._last = opened[-1]
        self._python, self._env = python, dict(env)
        self.via: tuple[str, ...] = tuple(str(one.hop) for one in opened[:-1])
        self.banner: tuple[CleanText, ...] = tuple(line for one in opened for line in one.banner)
        self.notes: tuple[str, ...] = tuple(note for one in opened for note in one.hop.notes)

    @property
    def host_key(self) -> str:
        """Fingerprint of the box's host key."""
        return _fingerprint(self._last)

    def is_closed(self) -> bool:
        return self._last.connection.is_closed()

    async def wait_closed(self) -> None:
        """Waits until the link is gone, for whatever reason."""
        await self._last.connection.wait_closed()

    async def open_agent(self, config: Mapping[str, Any] | None = None, package: str = AGENT_PACKAGE) -> Agent:
        """Starts an agent under the configured interpreter, else python3. Raises AgentNotStarted or LinkLost."""
        candidates = list(dict.fromkeys([*([self._python] if self._python else []), "python3"]))
        missing: list[str] = []
        for python in candidates:
            pipe = await self._open_pipe(python)
            try:
                return await start_agent(pipe, python, {"env": self._env, **(config or {})}, package)
            except NoPython as error:
                missing.append(str(error))
        raise NoPython(" ".join(missing))

    async def _open_pipe(self, python: str) -> ChannelPipe:
        """One session channel. For sshd, one that has just ended still counts for an instant."""
        if not _PLAIN_PATH.fullmatch(python):
            raise SshConfigError(f"The interpreter path {python!r} has characters that a login shell may change.")
        for wait_s in _SESSION_RETRIES_S:
            try:
                return await self._open_channel(python)
            except ChannelRefused:
                await asyncio.sleep(wait_s)
        return await self._open_channel(python)

    async def _open_channel(self, python: str) -> ChannelPipe:
        try:
            # The only line that a remote shell ever sees from us.
            process = await self._last.connection.create_process(
                f"exec {python} -I -S -u -c '{STAGE0}'", encoding=None, env=(), send_env=(), request_pty=False
            )
        except CONNECT_FAILURES as error:
            raise explain_session(error, self._last.hop) from None
        return ChannelPipe(process, self._last.hop)

    async def forward(self, box_port: int, local_port: int = 0, address: str = "127.0.0.1") -> Forward:
        """Opens a tunnel on this machine's loopback to an address of the box; local port 0 takes any free one."""
        try:
            listener = await self._last.connection.forward_local_port("127.0.0.1", local_port, address, box_port)
        except OSError as error:
            raise ChannelRefused(f"Port {local_port} of this machine cannot be used: {error.strerror}.") from None
        except asyncssh.Error as error:
            raise explain_session(error, self._last.hop) from None
        return Forward(listener)

    async def close(self) -> None:
        """Closes the box's connection, then the hops before it; bounded, never raises."""
        for one in reversed(self._opened):
            await one.close()


def _fingerprint(opened: Opened) -> str:
    key = opened.connection.get_server_host_key()
    return key.get_fingerprint() if key is not None else ""


async def connect(
    ssh: str,
    *,
    python: str | None = None,
    env: Mapping[str, str] | None = None,
    ssh_config: Path | None = None,
    expect_fingerprint: str | None = None,
    asker: Asker | None = None,
    remembered: dict[str, str] | None = None,
) -> Connection:
    """Connects to an alias or user@host[:port] through all its hops. Raises a RemoteError that has its sentence.

    `python` and `env` are the agent's on the box. `expect_fingerprint` (`SHA256:…`) accepts exactly that unknown
    host key. Without an asker nothing is asked. `remembered` holds secrets in memory, so that a reconnect with the
    same dict asks nothing again.
    """  # fmt: skip
    secrets = Secrets(asker, {} if remembered is None else remembered)
    async with _gate():
        hops = await asyncio.to_thread(resolve, ssh, ssh_config)
        opened = await _open_chain(hops, secrets, expect_fingerprint)
    return Connection(opened, python, env or {})


_gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


@contextlib.asynccontextmanager
async def _gate() -> AsyncIterator[None]:
    """Few connections at a time, not all at the same instant: sshd's MaxStartups drops more than ten."""
    gate = _gates.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(_MAX_CONNECTING))
    waited = gate.locked()
    async with gate:
        if waited:
            await asyncio.sleep(random.uniform(0, _STAGGER_S))
        yield


async def _open_chain(hops: tuple[Hop, ...], secrets: Secrets, expected: str | None) -> tuple[Opened, ...]:
    """Opens hop after hop, each with its own host key check and login; what is open is closed when one fails."""
    opened: list[Opened] = []
    try:
        for hop in hops:
            opened.append(await Login(hop, opened[-1] if opened else None, secrets, expected).run())
        if expected and expected.rstrip("=") not in {_fingerprint(one).rstrip("=") for one in opened}:
            raise HostKeyUnexpected(f"{hops[-1]} presents {_fingerprint(opened[-1])}, not the expected {expected}.")
    except BaseException:
        for one in reversed(opened):
            await one.close()
        raise
    return tuple(opened)
