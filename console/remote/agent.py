"""The agent as the laptop sees it: requests, streams and samples over one pipe."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import Any

from console.remote.brake import Brake
from console.remote.bundle import STAGE0, bundle, frame
from console.remote.errors import AgentEnded, AgentError, LinkLost, ProtocolError, RemoteError
from console.remote.frames import Frame, decode, encode
from console.remote.pipe import FrameTooLong, Lines, Pipe
from console.remote.stream import Stream
from console.values import CleanText, clean, clean_tree, strict_json

MAX_SAMPLES = 256
PING_EVERY_S = 5.0
PING_LIMIT_S = 20.0
MAX_ANSWER = 32 << 20  # bytes of a program's answer; the largest repositories need a fifth of it
PATIENCE_S = 60.0  # for the answer of a program whose own time is over


class Agent:
    """A running agent. Made by `Connection.open_agent` or `open_local_agent`.

    `hello`: the box's own words, cleaned. `noise`: what login scripts printed before it. `rtt_s`: the last
    answered ping. `malformed`: lines that were no frames. `dropped`: samples thrown away because nobody read them.
    """

    def __init__(self, pipe: Pipe, lines: Lines, hello: Frame, noise: tuple[CleanText, ...]) -> None:
        self._pipe, self._lines = pipe, lines
        self.hello: dict[str, Any] = clean_tree(hello.d)
        self.hello_wall_s = hello.t
        self.noise = noise
        self.rtt_s: float | None = None
        self.malformed = 0
        self.dropped = 0
        self.heard_at = time.monotonic()
        self._samples: deque[Frame] = deque()
        self._news = asyncio.Event()
        self._waiting: dict[int, Stream] = {}
        self._last_id = 0
        self._closing = False
        self._end: RemoteError | None = None
        self._errors_tail = b""
        self._brake = Brake(time.monotonic())
        self._tasks = [self._spawn(self._read()), self._spawn(self._read_errors()), self._spawn(self._ping())]
        self._background: set[asyncio.Task[None]] = set()

    @staticmethod
    def _spawn(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.create_task(work)

    @property
    def silence_s(self) -> float:
        """Seconds since the last frame of any kind; the agent beats once a second."""
        return time.monotonic() - self.heard_at

    @property
    def end(self) -> RemoteError | None:
        """Why the agent is gone, or None while it lives."""
        return self._end

    @property
    def errors_tail(self) -> CleanText:
        """The last line that the agent printed on standard error."""
        lines = self._errors_tail.decode("utf-8", "backslashreplace").strip().splitlines()
        return clean(lines[-1] if lines else "")

    async def request(self, op: str, **args: Any) -> dict[str, Any]:
        """One request, one reply. `AgentError` when the agent refuses it, `LinkLost` when nobody knows."""
        async with Stream(self, op, args) as stream:
            async for _ in stream:
                pass
            assert stream.result is not None
            return stream.result

    def stream(self, op: str, **args: Any) -> Stream:
        """One request with many answers."""
        return Stream(self, op, args)

    async def frames(self) -> AsyncIterator[Frame]:
        """Samples and heartbeats, cleaned, for one reader; raises the reason when the agent goes, ends after `close`.

        Each answered ping comes as a frame of kind `pong` with d = {"rtt_s"}, made on this side.
        """
        while True:
            while self._samples:
                yield self._samples.popleft()
            if self._end is not None:
                if self._closing:
                    return
                raise self._end
            self._news.clear()
            await self._news.wait()

    async def run_program(
        self,
        python: str,
        package: str,
        request: dict[str, Any],
        timeout_s: float | None = None,
        env: Mapping[str, str] | None = None,
        server_keys: Mapping[str, tuple[int, int]] | None = None,
    ) -> dict[str, Any]:
        """Runs a bundle under an interpreter of the box; the program prints one JSON object, its answer.

        `env` is added to the agent's environment before the interpreter starts, as the dynamic linker needs it;
        `server_keys` likewise, each the API key of a server (pid, start) that the agent reads where the server has it.
        AgentError `failed` with the program's last words when it does not, `timeout` when it was too slow.
        """
        argv = [python, "-I", "-u", "-c", STAGE0]
        output, errors = bytearray(), bytearray()
        program = frame(bundle(package, request))
        given = {"env": dict(env or {}), "server_keys": dict(server_keys or {})}
        stream = self.stream("exec", argv=argv, **given, timeout_s=timeout_s, feed=True)
        try:
            async with asyncio.timeout(None if timeout_s is None else timeout_s + PATIENCE_S), stream:
                await stream.feed(program, eof=True)
                async for part in stream:
                    (output if part["fd"] == 1 else errors).extend(base64.b64decode(part["data"]))
                    if len(output) + len(errors) > MAX_ANSWER:
                        raise AgentError("failed", f"the program's answer is longer than {MAX_ANSWER >> 20} MiB")
            ending = stream.result or {}
        except TimeoutError:  # the agent keeps the program's time; one that does not is not waited for
            ending = {"timed_out": True}
        if ending.get("timed_out"):
            raise AgentError("timeout", f"the program did not answer within {timeout_s:g} s")
        with contextlib.suppress(ValueError):
            answer = strict_json(bytes(output).strip().rpartition(b"\n")[2])
            if isinstance(answer, dict):
                return answer
        last = bytes(errors).decode("utf-8", "backslashreplace").strip().rpartition("\n")[2]
        raise AgentError("failed", clean(last) or f"the program printed no answer, exit code {ending.get('exit_code')}")

    async def close(self) -> None:
        """Ends the agent; what it runs on the box for us ends with it."""
        self._closing = True
        self._finish(LinkLost("The agent was closed."))
        running = [*self._tasks, *self._background]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await self._pipe.close()

    async def send(self, stream: Stream, op: str, args: dict[str, Any]) -> int:
        """Sends a stream's request and routes the answers to it."""
        if self._end is not None:
            raise self._end
        self._last_id += 1
        request_id = self._last_id
        line = encode(request_id, op, args)
        self._waiting[request_id] = stream
        await self._pipe.write(line)
        return request_id

    def abandon(self, request_id: int) -> None:
        """Ends a request on the box without making the caller wait: it may be going down itself."""
        self._waiting.pop(request_id, None)
        if self._end is not None or self._closing:
            return

        async def tell() -> None:
            with contextlib.suppress(RemoteError):
                await self.request("cancel", target=request_id)

        task = self._spawn(tell())
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def _read(self) -> None:
        try:
            while chunk := await self._pipe.read():
                self.take(self._lines.feed(chunk))
                if wait_s := self._brake.wait_s(time.monotonic()):
                    await asyncio.sleep(wait_s)
            if self._lines.rest:
                self.malformed += 1
            self._finish(await self._why_ended())
        except FrameTooLong:
            self._finish(ProtocolError("The agent sent a line longer than a frame may be; it is dropped."))
        except RemoteError as error:
            self._finish(error)

    async def _why_ended(self) -> RemoteError:
        try:
            async with asyncio.timeout(5):
                ending = await self._pipe.ended()
        except (RemoteError, TimeoutError):
            return LinkLost("The connection was lost.")
        if ending.exit_code is None and ending.signal is None:
            return LinkLost("The connection was lost.")
        await asyncio.wait(self._tasks[1:2], timeout=1)  # its last words
        how = f"by signal {ending.signal}" if ending.signal else f"with exit code {ending.exit_code}"
        words = f": {self.errors_tail}" if self._errors_tail and not ending.signal else ""
        return AgentEnded(f"The agent on the box ended {how}{words}.")

    async def _read_errors(self) -> None:
        brake = Brake(time.monotonic())
        with contextlib.suppress(RemoteError):
            while chunk := await self._pipe.read_errors():
                self._errors_tail = (self._errors_tail + chunk)[-2048:]
                brake.unasked(len(chunk))
                if wait_s := brake.wait_s(time.monotonic()):
                    await asyncio.sleep(wait_s)

    def take(self, lines: list[bytes]) -> None:
        """Hands complete lines to whom they concern."""
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        answer = decode(line)
        if answer is None or answer.id not in self._waiting:
            self._brake.unasked(len(line))
        if answer is None:
            self.malformed += 1
            return
        self.heard_at = time.monotonic()
        if answer.id is not None:
            stream = self._waiting.get(answer.id)
            if stream is not None:
                if answer.k != "part":
                    del self._waiting[answer.id]
                stream.receive(answer, len(line))
        else:
            self._offer(
                Frame(1, answer.n, clean(answer.k), answer.t, answer.m, clean_tree(answer.d), None, answer.dropped)
            )

    def _offer(self, sample: Frame) -> None:
        if len(self._samples) >= MAX_SAMPLES:
            self._samples.popleft()
            self.dropped += 1
        self._samples.append(sample)
        self._news.set()

    def _finish(self, reason: RemoteError) -> None:
        if self._end is not None:
            return
        self._end = reason
        waiting, self._waiting = self._waiting, {}
        for stream in waiting.values():
            stream.receive(reason)
        self._news.set()

    async def _ping(self) -> None:
        """Proves both directions and re-arms the agent's idle alarm; keepalives are answered by sshd alone."""
        while True:
            started = time.monotonic()
            try:
                async with asyncio.timeout(PING_LIMIT_S):
                    await self.request("ping")
            except TimeoutError:
                self._finish(LinkLost(f"The agent has not answered for {PING_LIMIT_S:.0f} s."))
                return
            except RemoteError as error:
                self._finish(ProtocolError(f"The agent answered a ping with an error: {error}."))
                return
            now = time.monotonic()
            self.rtt_s = now - started
            self._offer(Frame(1, 0, "pong", time.time(), now, {"rtt_s": self.rtt_s}))
            await asyncio.sleep(PING_EVERY_S)
