"""A ProxyCommand: the operator's own shell line, run here, whose standard input and output are the connection."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket

from console.remote.errors import ProxyCommandFailed
from console.values import CleanText, clean

_END_LIMIT_S = 2.0


class ProxyCommand:
    """The running command. It keeps its standard error apart, where asyncssh would mix it into the SSH stream."""

    def __init__(self, process: asyncio.subprocess.Process, end: socket.socket) -> None:
        self._process = process
        self.socket = end
        self._said = bytearray()
        self._listening = asyncio.create_task(self._listen())

    @classmethod
    async def start(cls, command: str) -> ProxyCommand:
        """Runs the command under the operator's shell, as ssh does."""
        ours, theirs = socket.socketpair()
        shell = os.environ.get("SHELL") or "/bin/sh"
        try:
            process = await asyncio.create_subprocess_exec(
                shell, "-c", f"exec {command}",
                stdin=theirs.fileno(), stdout=theirs.fileno(), stderr=asyncio.subprocess.PIPE, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            ours.close()
            raise ProxyCommandFailed(
                f"The shell {shell} for the ProxyCommand cannot be run: {error.strerror}."
            ) from None
        finally:
            theirs.close()
        return cls(process, ours)

    async def _listen(self) -> None:
        assert self._process.stderr is not None
        while chunk := await self._process.stderr.read(4096):
            self._said += chunk
            del self._said[:-4096]

    async def failure(self) -> ProxyCommandFailed | None:
        """Why the command ended by itself; None while it runs."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.5):
                code = await self._process.wait()
            await asyncio.wait([self._listening], timeout=0.5)
            why = f": {self.last_words}" if self._said else ""
            return ProxyCommandFailed(f"The ProxyCommand ended with exit code {code}{why}.")
        return None

    @property
    def last_words(self) -> CleanText:
        """The last line of its standard error."""
        return clean(bytes(self._said).decode("utf-8", "backslashreplace").strip().rpartition("\n")[2])

    async def close(self) -> None:
        """Ends the command; it may have children of its own, so its whole process group goes."""
        self.socket.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_END_LIMIT_S):
                await self._process.wait()
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)
            await self._process.wait()
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)
        self._process._transport.close()  # type: ignore[attr-defined]  # a grandchild may hold its stderr
