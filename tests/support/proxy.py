"""A small TCP proxy in the test's own loop: what networks do to a connection, without root."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
import struct
from collections.abc import AsyncIterator
from typing import Literal

Mode = Literal["pass", "blackhole", "corrupt"]


class Proxy:
    """Forwards connections to a port. `mode` may change at any time; a blackhole keeps what it swallows, as TCP does.

    `delay_s` is added in each direction; `rate_bytes_s` caps each direction; `loss` of the chunks wait for TCP to send
    them again.
    """

    def __init__(self, target_port: int) -> None:
        self._target = target_port
        self._server: asyncio.Server | None = None
        self._mode: Mode = "pass"
        self._open = asyncio.Event()
        self._open.set()
        self.delay_s = 0.0
        self.rate_bytes_s = 0
        self.loss = 0.0
        self._chance = random.Random(1)
        self._stranded = asyncio.Event()
        self._pairs: list[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        assert self._server is not None
        return int(self._server.sockets[0].getsockname()[1])

    @property
    def mode(self) -> Mode:
        return self._mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        self._mode = mode
        if mode == "blackhole":
            self._open.clear()
        else:
            self._open.set()

    async def start(self) -> Proxy:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    def reset(self) -> None:
        """RST to both sides of every connection."""
        for pair in self._pairs:
            for writer in pair:
                self._linger_nothing(writer)
                writer.transport.abort()

    def finish(self) -> None:
        """FIN to both sides of every connection, as when a machine in between shuts down cleanly."""
        for pair in self._pairs:
            for writer in pair:
                writer.close()

    def strand(self) -> None:
        """Nothing goes through the present connections any more, no end either; new ones are served."""
        self._stranded.set()
        self._stranded = asyncio.Event()

    @staticmethod
    def _linger_nothing(writer: asyncio.StreamWriter) -> None:
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            there_reader, there_writer = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.close()
            return
        self._pairs.append((writer, there_writer))
        for source, sink in ((reader, there_writer), (there_reader, writer)):
            task = asyncio.create_task(self._pump(source, sink, self._stranded))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _pump(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, stranded: asyncio.Event) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(16384):
                await self._travel(len(data))
                if stranded.is_set():
                    break
                if self._mode == "corrupt":
                    data = data[:-1] + bytes([data[-1] ^ 1])
                sink.write(data)
                await sink.drain()
        if not stranded.is_set():
            await self._open.wait()
            sink.close()

    async def _travel(self, size: int) -> None:
        """As long as these bytes are under way."""
        wait_s = self.delay_s + (size / self.rate_bytes_s if self.rate_bytes_s else 0.0)
        if self._chance.random() < self.loss:
            wait_s += self._chance.uniform(0.2, 1.0)
        if wait_s:
            await asyncio.sleep(wait_s)
        await self._open.wait()

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        self._open.set()
        for pair in self._pairs:
            for writer in pair:
                writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for pair in self._pairs:
            for writer in pair:
                with contextlib.suppress(OSError):
                    await writer.wait_closed()


@contextlib.asynccontextmanager
async def proxy(target_port: int) -> AsyncIterator[Proxy]:
    """A running proxy in front of a port."""
    running = await Proxy(target_port).start()
    try:
        yield running
    finally:
        await running.stop()
