"""A SGLang with programmable timing and faults, on loopback, for the tests of the load worker."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from time import monotonic
from typing import Any


@dataclass
class Behaviour:
    """Every answer: first event after `first_s`, then one step every `gap_s`; a step brings 1 + accepted tokens."""

    first_s: float = 0.02
    gap_s: float = 0.005
    accepted: list[int] = field(default_factory=list)  # per verify step, repeating; empty: no speculation
    drafts: int = 7
    max_running: int = 10_000
    status: int = 200
    fail_every: int = 0  # every n-th request gets `fail_status`
    fail_status: int = 503
    die_after: int = 0  # the server goes away with its n-th request
    cut_every: int = 0  # every n-th stream ends in the middle without a finish reason
    cached_share: float = 0.0
    end_at: int = 0  # answers stop by themselves after that many tokens
    usage: bool = True
    lost_tokens: int = 0  # usage promises more than was streamed
    reasoning: int = 0  # the first tokens of a chat answer are reasoning
    frozen_gauges: bool = False
    metrics: bool = True
    flush: list[int] = field(default_factory=lambda: [200])  # statuses of the flushes; the last one stays
    new_args_after: int = 0  # the effective arguments change with the n-th question
    info: dict[str, Any] = field(default_factory=dict)  # further effective arguments


class MockSGLang:
    """`async with MockSGLang(Behaviour(...)) as server:` serves on `server.port`."""

    def __init__(self, behaviour: Behaviour | None = None) -> None:
        self.behaviour = behaviour or Behaviour()
        self.port = 0
        self.requests: list[dict[str, Any]] = []
        self.active = self.peak = 0
        self.flushes = 0
        self.decoded = 0
        self._asked = 0
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.sent: list[tuple[float, int]] = []  # (monotonic, tokens): the truth
        self._slots = asyncio.Semaphore(self.behaviour.max_running)

    async def __aenter__(self) -> MockSGLang:
        self._server = await asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.die()

    async def die(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await self._server.wait_closed()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        method, path, _ = head.split(" ", 2)
        length = next((int(line[15:]) for line in head.split("\r\n") if line.lower().startswith("content-length:")), 0)
        body = json.loads(await reader.readexactly(length)) if length else {}
        if path in ("/generate", "/v1/chat/completions"):
            return await self._stream(path == "/generate", body, writer)
        status, text = self._plain(method, path.partition("?")[0])
        writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode())
        await writer.drain()
        return True

    def _plain(self, method: str, path: str) -> tuple[int, str]:
        behaviour = self.behaviour
        if (method, path) == ("POST", "/flush_cache"):
            status = behaviour.flush[min(self.flushes, len(behaviour.flush) - 1)]
            self.flushes += 1
            return status, ""
        if path == "/server_info":
            return 200, json.dumps(self._info())
        if path == "/metrics" and behaviour.metrics:
            return 200, self._metrics()
        return 404, ""

    def _info(self) -> dict[str, Any]:
        self._asked += 1
        changed = self.behaviour.new_args_after and self._asked > self.behaviour.new_args_after
        return {
            "model_path": "/srv/models/m",
            "api_key": "sk-secret",
            "tp_size": 2 if changed else 1,
            "version": "0.5.23",
            **self.behaviour.info,
            "internal_states": [
                {"effective_max_running_requests_per_dp": self.behaviour.max_running, "api_key": "sk-secret"}
            ],
        }

    def _metrics(self) -> str:
        running = 3 if self.behaviour.frozen_gauges else self.active
        rate = 523.0 if self.behaviour.frozen_gauges else 0.0
        labels = '{model_name="m",tp_rank="0"}'
        return (
            f"# HELP x\nsglang:num_running_reqs{labels} {running}.0\nsglang:num_queue_reqs{labels} 0.0\n"
            f"sglang:gen_throughput{labels} {rate}\nsglang:token_usage{labels} 0.25\n"
            f'sglang:realtime_tokens_total{{mode="decode",model_name="m"}} {self.decoded}.0\n'
        )

    async def _stream(self, native: bool, body: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        self.requests.append(body)
        number, behaviour = len(self.requests), self.behaviour
        if behaviour.die_after and number >= behaviour.die_after:
            asyncio.get_running_loop().call_soon(asyncio.ensure_future, self.die())
            return False
        status = behaviour.status
        if behaviour.fail_every and number % behaviour.fail_every == 0:
            status = behaviour.fail_status
        if status != 200:
            writer.write(f"HTTP/1.1 {status} X\r\nContent-Length: 4\r\n\r\nbusy".encode())
            await writer.drain()
            return True
        async with self._slots:
            self.active += 1
            self.peak = max(self.peak, self.active)
            try:
                return await self._answer(native, body, writer, number)
            finally:
                self.active -= 1

    async def _answer(self, native: bool, body: dict[str, Any], writer: asyncio.StreamWriter, number: int) -> bool:
        behaviour = self.behaviour
        sampling = body.get("sampling_params", body)
        asked = sampling.get("max_new_tokens", sampling.get("max_tokens"))
        total = min(asked, behaviour.end_at) if behaviour.end_at else asked
        finish = "stop" if total < asked else "length"
        cut = bool(behaviour.cut_every) and number % behaviour.cut_every == 0
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        if not native:
            _chunk(writer, {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]})
        due = asyncio.get_running_loop().time() + behaviour.first_s
        sent = steps = correct = 0
        while sent < total:
            await asyncio.sleep(max(0.0, due - asyncio.get_running_loop().time()))
            due += behaviour.gap_s
            new = 1
            if sent and behaviour.accepted:
                hit = behaviour.accepted[steps % len(behaviour.accepted)]
                steps, correct, new = steps + 1, correct + hit, 1 + hit
            new = min(new, total - sent)
            sent += new
            self.decoded += new
            self.sent.append((monotonic(), new))
            done = sent >= total
            if cut and sent * 2 >= total:
                return False
            _chunk(writer, self._event(native, sent, finish if done else None, (steps, correct)))
            await writer.drain()
        if not native:
            _chunk(writer, {"choices": [], "usage": self._usage(total + behaviour.lost_tokens)})
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()
        return True

    def _usage(self, count: int) -> dict[str, Any] | None:
        if not self.behaviour.usage:
            return None
        cached = {"cached_tokens": round(100 * self.behaviour.cached_share)}
        return {"prompt_tokens": 100, "completion_tokens": count, "prompt_tokens_details": cached}

    def _event(self, native: bool, count: int, finish: str | None, spec: tuple[int, int]) -> dict[str, Any]:
        behaviour = self.behaviour
        if not native:
            kind = "reasoning_content" if count <= behaviour.reasoning else "content"
            choice = {"index": 0, "delta": {kind: "the "}, "finish_reason": finish}
            return {"choices": [choice], "usage": self._usage(count)}
        meta: dict[str, Any] = {"finish_reason": {"type": finish} if finish else None, "completion_tokens": count}
        meta |= {"prompt_tokens": 100, "cached_tokens": round(100 * behaviour.cached_share)}
        if finish:
            meta["completion_tokens"] += behaviour.lost_tokens
        if finish and not behaviour.usage:
            del meta["completion_tokens"]
        if behaviour.accepted:
            meta |= {"spec_verify_ct": spec[0], "spec_accepted_drafts": spec[1]}
            meta["spec_proposed_drafts"] = spec[0] * behaviour.drafts
        return {"text": 'the "completion_tokens":99 ' * min(count, 3), "meta_info": meta}


def _chunk(writer: asyncio.StreamWriter, body: dict[str, Any]) -> None:
    data = b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"
    writer.write(b"%x\r\n%s\r\n" % (len(data), data))
