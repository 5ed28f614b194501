"""What the agent speaks through: one pair of byte streams to a process on the box, over SSH or not."""

from __future__ import annotations

from typing import Protocol

import msgspec


class Ending(msgspec.Struct, frozen=True):
    """How the process ended. Both fields None: nobody knows, the link died first."""

    exit_code: int | None = None
    signal: str | None = None


class Pipe(Protocol):
    """Bytes only. `read` and `read_errors` give b"" at the end; all raise `LinkLost` when the link dies."""

    async def read(self) -> bytes: ...

    async def read_errors(self) -> bytes: ...

    async def write(self, data: bytes) -> None: ...

    async def ended(self) -> Ending:
        """Waits for the process to end."""
        ...

    async def close(self) -> None:
        """Ends the process by closing its standard input; bounded in time, never raises."""
        ...


MAX_FRAME = 256 * 1024


class FrameTooLong(Exception):
    """A line longer than the cap: no agent of ours sends it."""


class Lines:
    """Splits a byte stream into lines, with a cap on their length."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that the chunk completes, without their ends."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        if len(self._rest) > MAX_FRAME or any(len(line) > MAX_FRAME for line in lines):
            raise FrameTooLong
        return lines

    @property
    def rest(self) -> bytes:
        """The beginning of a line whose end has not come."""
        return self._rest
