"""The same agent on this machine: a subprocess instead of an SSH channel."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping
from typing import Any

from console.remote.agent import Agent
from console.remote.bundle import STAGE0
from console.remote.errors import NoPython
from console.remote.pipe import Ending
from console.remote.start import start_agent

_CLOSE_LIMIT_S = 3.0


class ProcessPipe:
    """A Pipe over an asyncio subprocess."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        self._process = process
        self._stdin, self._stdout, self._stderr = process.stdin, process.stdout, process.stderr

    async def read(self) -> bytes:
        return await self._stdout.read(65536)

    async def read_errors(self) -> bytes:
        return await self._stderr.read(65536)

    async def write(self, data: bytes) -> None:
        # A process that is gone shows itself at the reading side, with its last words.
        with contextlib.suppress(ConnectionError):
            self._stdin.write(data)
            await self._stdin.drain()

    async def ended(self) -> Ending:
        code = await self._process.wait()
        return Ending(exit_code=code) if code >= 0 else Ending(signal=signal.Signals(-code).name[3:])

    async def close(self) -> None:
        self._stdin.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CLOSE_LIMIT_S):
                await self._process.wait()
        # Kills a process that still runs. asyncio waits until both pipes are read to their ends: nobody reads them
        # any more, or a grandchild may hold them.
        self._process._transport.close()  # type: ignore[attr-defined]
        await self._process.wait()


async def open_local_agent(
    python: str = "python3", env: Mapping[str, str] | None = None, config: Mapping[str, Any] | None = None
) -> Agent:
    """An agent of this machine. It inherits the console's environment, with `env` on top."""
    try:
        process = await asyncio.create_subprocess_exec(
            python, "-I", "-S", "-u", "-c", STAGE0,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            env={**os.environ, **(env or {})}, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise NoPython(f"{python} cannot be run here: {error.strerror}") from None
    return await start_agent(ProcessPipe(process), python, config or {})
