"""One streaming request of an agent."""

from __future__ import annotations

import asyncio
import base64
from collections import deque
from typing import TYPE_CHECKING, Any

from console.remote.errors import AgentError, RemoteError
from console.remote.frames import Frame
from console.values import clean, strict_json

if TYPE_CHECKING:
    from console.remote.agent import Agent

MAX_PENDING = 16 << 20  # bytes of answers that nobody has taken yet; the longest file that is read has 4 MiB
_CHUNK = 96 * 1024  # base64 of it, with its envelope, stays below the frame cap


class Stream:
    """The parts of one streaming request: iterate it, then read `result`, the final reply.

    Leaving it early with `aclose` (or `async with`) cancels the request on the box.
    """

    def __init__(self, agent: Agent, op: str, args: dict[str, Any]) -> None:
        self._agent, self._op, self._args = agent, op, args
        self._parts: deque[tuple[int, dict[str, Any]]] = deque()
        self._chunks: list[str] = []
        self._pending = 0
        self._news = asyncio.Event()
        self._feeding: Stream | None = None
        self._final: dict[str, Any] | RemoteError | None = None
        self.id: int | None = None
        self.result: dict[str, Any] | None = None

    async def start(self) -> Stream:
        """Sends the request, once; iterating does it, too."""
        if self.id is None:
            self.id = await self._agent.send(self, self._op, self._args)
        return self

    def receive(self, answer: Frame | RemoteError, size: int = 0) -> None:
        """Called by the agent's reader with each answer of `size` bytes, and with the error when the link dies."""
        if isinstance(answer, RemoteError):
            self._final = answer
        elif answer.k == "part":
            self._pending += size
            if self._pending > MAX_PENDING:
                self._overrun()
            elif answer.d.keys() == {"chunk"}:
                self._chunks.append(str(answer.d["chunk"]))
            else:
                self._parts.append((size, answer.d))
        else:
            self._final = self._finished(answer)
        if self._final is not None and self._feeding is not None:
            self._feeding.receive(AgentError("not_found", ""))
        self._news.set()

    def _overrun(self) -> None:
        """What came is dropped, and the request is ended on the box."""
        self._parts.clear()
        self._chunks.clear()
        if self._final is None and self.id is not None:
            self._agent.abandon(self.id)
        self._final = AgentError("failed", f"the answer is longer than the {MAX_PENDING >> 20} MiB that may wait here")

    def _finished(self, answer: Frame) -> dict[str, Any] | RemoteError:
        """The final answer; one that was too long for a frame came in chunks of its JSON text."""
        data: Any = answer.d
        if data.keys() == {"chunks"}:
            try:
                data = strict_json("".join(self._chunks))
            except ValueError:
                return AgentError("io", "the agent's answer came in chunks that do not fit together")
        if answer.k == "error":
            return AgentError(clean(str(data.get("error", "io"))), clean(str(data.get("message", ""))))
        return data if isinstance(data, dict) else AgentError("io", "the agent's answer is no object")

    async def feed(self, data: bytes, *, eof: bool = False) -> None:
        """Bytes for the standard input of an `exec` that was started with `feed=True`.

        A program that is gone before it took all of them, or an answer that was ended, is told by its own end,
        not here.
        """
        for start in range(0, max(len(data), 1), _CHUNK):
            if self._final is not None:
                return
            last = start + _CHUNK >= len(data)
            piece = base64.b64encode(data[start : start + _CHUNK]).decode()
            try:
                args = {"target": self.id, "data": piece, "eof": eof and last}
                async with Stream(self._agent, "stdin", args) as self._feeding:
                    async for _ in self._feeding:
                        pass
            except AgentError as error:
                if error.code != "not_found":
                    raise
                return

    def __aiter__(self) -> Stream:
        return self

    async def __anext__(self) -> dict[str, Any]:
        await self.start()
        while not self._parts and self._final is None:
            self._news.clear()
            await self._news.wait()
        if self._parts:
            size, part = self._parts.popleft()
            self._pending -= size
            return part
        if isinstance(self._final, RemoteError):
            raise self._final
        self.result = self._final
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """Cancels the request if it still runs."""
        if self.id is not None and self._final is None:
            self._final = AgentError("cancelled", "")
            self._agent.abandon(self.id)

    async def __aenter__(self) -> Stream:
        return await self.start()

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
