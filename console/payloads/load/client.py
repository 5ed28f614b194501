"""One connection that sends a request, times the events of the answer, and can be used again.

A plain `asyncio.Protocol`: between the socket and the time stamp there is nothing but the event loop.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import Any, Callable, cast

from .backends import Reader
from .http import BadResponse, Response, lone_event
from .sse import Splitter

# One receive buffer for all connections: bytes are copied out before the loop goes on, and no read allocates
# the 256 KiB that a plain Protocol costs.
BUFFER = memoryview(bytearray(65536))
ANSWERS = ("content", "tool")
MOST_BYTES = 64 << 20  # of an answer that is read as a whole


class Exchange:
    """One request and its timeline. Times are seconds of CLOCK_MONOTONIC."""

    __slots__ = (
        "answer", "body", "category", "cut", "ended", "error", "http", "index", "reader", "requested",
        "sched", "t0", "times", "tokens",
    )  # fmt: skip

    def __init__(self, index: int, body: bytes, reader: Reader, requested: int, category: str = "") -> None:
        self.index, self.body, self.reader, self.requested = index, body, reader, requested
        self.category = category
        self.sched: float | None = None
        self.t0 = 0.0
        self.ended = 0.0
        self.times: list[float] = []
        self.tokens: list[int] = []
        self.answer: int | None = None
        self.http = 0
        self.error = ""
        self.cut = False

    def failed(self, ignore_eos: bool) -> bool:
        """Not a success by the rule of the metrics; a request cut by the window's end is not judged."""
        if self.cut:
            return False
        reader = self.reader
        total = reader.usage if reader.usage is not None else sum(self.tokens)
        bad = bool(self.error) or self.http != 200 or not reader.finish or reader.finish == "abort" or total < 1
        return bad or (ignore_eos and (reader.finish != "length" or total != self.requested))

    def record(self, epoch: float) -> dict[str, Any]:
        """Plain data, times in whole microseconds since `epoch`."""
        reader = self.reader
        return {
            "i": self.index,
            "sched": None if self.sched is None else micros(self.sched - epoch),
            "t0": micros(self.t0 - epoch),
            "times": [micros(t - epoch) for t in self.times],
            "tokens": self.tokens,
            "answer": self.answer,
            "ended": micros(self.ended - epoch),
            "usage": reader.usage,
            "requested": self.requested,
            "finish": reader.finish,
            "http": self.http,
            "error": self.error,
            "cut": self.cut,
            "prompt": reader.prompt_tokens,
            "cached": reader.cached_tokens,
            "spec": reader.spec,
            "category": self.category,
            "said": reader.said,
        }


def micros(seconds: float) -> int:
    return round(seconds * 1e6)


class Counters:
    """What the hot path counts for all connections."""

    def __init__(self) -> None:
        self.tokens = 0
        self.events = 0
        self.reads = 0
        self.coalesced = 0


class Stream(asyncio.BufferedProtocol):
    """Carries one exchange at a time; `done` is called with both when it has ended, however it ended."""

    def __init__(self, counters: Counters, done: Callable[[Stream, Exchange], None]) -> None:
        self._counters, self._done = counters, done
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._response = Response()
        self._splitter = Splitter()
        self._between = False
        self._fresh = True

    @property
    def usable(self) -> bool:
        return self._transport is not None and not self._transport.is_closing() and self._exchange is None

    @property
    def exchange(self) -> Exchange | None:
        return self._exchange

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def send(self, exchange: Exchange) -> None:
        assert self._transport is not None
        self._exchange = exchange
        self._response, self._splitter, self._between = Response(), Splitter(), False
        exchange.t0 = monotonic()
        self._transport.write(exchange.body)

    def get_buffer(self, sizehint: int) -> memoryview:
        return BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        now = monotonic()
        data = bytes(BUFFER[:nbytes])
        exchange = self._exchange
        if exchange is None:
            self.close()
            return
        try:
            payload = lone_event(data) if self._between else None
            if payload is None:
                self._read(exchange, data, now)
            elif self._take(exchange, payload, now):
                self._counters.reads += 1
        except (BadResponse, ValueError, KeyError, AttributeError, TypeError) as error:
            exchange.error = f"bad_response: {error}"
            self.close()
            self._finish(now)

    def _read(self, exchange: Exchange, data: bytes, now: float) -> None:
        response = self._response
        pieces = response.feed(data)
        exchange.http = response.status
        if response.status not in (0, 200):
            pieces = []
        seen = sum(self._take(exchange, payload, now) for piece in pieces for payload in self._splitter.feed(piece))
        self._between = response.between and self._splitter.between
        if seen:
            self._counters.reads += 1
            self._counters.coalesced += seen > 1
        if response.complete:
            if not response.reusable:
                self.close()
            self._fresh = False
            self._finish(now)

    def _take(self, exchange: Exchange, payload: bytes, now: float) -> bool:
        """Whether this event holds new tokens; they are noted."""
        reader = exchange.reader
        new = reader.read(payload)
        if not new:
            return False
        if exchange.answer is None and reader.kind in ANSWERS:
            exchange.answer = len(exchange.times)
        exchange.times.append(now)
        exchange.tokens.append(new)
        counters = self._counters
        counters.tokens += new
        counters.events += 1
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        exchange = self._exchange
        self._transport = None
        if exchange is None:
            return
        if not self._response.status and not exchange.error and not self._fresh:
            exchange.error = "stale_connection"
        elif not exchange.error and not exchange.reader.finish:
            exchange.error = "" if self._response.status else "connection_lost"
        self._finish(monotonic())

    def _finish(self, now: float) -> None:
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.ended = now
            if exchange.reader.error and not exchange.error:
                exchange.error = exchange.reader.error
            self._done(self, exchange)

    def cut(self) -> None:
        """Ends the running exchange because the measurement is over: SGLang frees the slot of a closed connection."""
        if self._exchange is not None:
            self._exchange.cut = True
        exchange, self._exchange = self._exchange, None
        self.close()
        if exchange is not None:
            exchange.ended = monotonic()
            self._done(self, exchange)

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


async def fetch(host: str, port: int, request: bytes, timeout: float) -> Answer:
    """One short request on a connection of its own. Raises OSError, asyncio.TimeoutError."""
    return await asyncio.wait_for(_fetch(host, port, request), timeout)


class Answer(Response):
    """A short answer with its whole body."""

    __slots__ = ("body",)

    def __init__(self) -> None:
        super().__init__()
        self.body = b""


async def _fetch(host: str, port: int, request: bytes) -> Answer:
    reader, writer = await asyncio.open_connection(host, port)
    answer = Answer()
    try:
        writer.write(request)
        while not answer.complete:
            data = await reader.read(65536)
            if not data:
                break
            answer.body += b"".join(answer.feed(data))
            if len(answer.body) > MOST_BYTES:
                raise OSError("the server's answer has no end")
    except BadResponse as error:
        raise OSError(str(error)) from error
    finally:
        writer.close()
    if not answer.status:
        raise OSError("the server closed the connection without an answer")
    return answer
