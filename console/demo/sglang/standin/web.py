"""The HTTP server: one small asyncio server, answers and streams as the real one gives them."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from typing import Any

from . import answers
from .engine import Engine, Request, request
from .log import say

_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 503: "Service Unavailable"}
_OPEN = ("/health", "/health_generate", "/ready", "/metrics")


class Web:
    """`ready` is set after the warm-up; `draining` at the stop."""

    def __init__(self, args: argparse.Namespace, engine: Engine, context: int) -> None:
        self._args, self._engine, self._context = args, engine, context
        self._name = args.served_model_name or args.model_path
        self._number = 0
        self.ready = False

    async def connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One client, request after request."""
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                lines = head.split("\r\n")
                method, target, _ = lines[0].split(" ", 2)
                pairs = (line.partition(":") for line in lines[1:] if line)
                headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
                body = await reader.readexactly(int(headers.get("content-length") or 0))
                path = target.partition("?")[0]
                status = await self._answer(writer, method, path, headers, body)
                client = writer.get_extra_info("peername")
                line = f'"{method} {target} HTTP/1.1" {status} {_REASONS.get(status, "")}'
                say(f"INFO:     {client[0]}:{client[1]} - {line}")
                if headers.get("connection", "").lower() == "close":
                    break
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    async def _answer(
        self, writer: asyncio.StreamWriter, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> int:
        key = self._args.api_key
        if key and path not in _OPEN and headers.get("authorization") != f"Bearer {key}":
            return await _send(writer, 401, b'{"error":"Unauthorized"}')
        if path in ("/generate", "/v1/chat/completions") and method == "POST":
            try:
                asked = json.loads(body)
            except ValueError:
                return await _send(writer, 400, b'{"error":"the body is no JSON"}')
            return await self._generate(writer, path, asked)
        status, answer = self._get(path)
        return await _send(writer, status, answer)

    def _get(self, path: str) -> tuple[int, bytes]:
        args, engine = self._args, self._engine
        if path in ("/health", "/health_generate", "/ready"):
            return (200 if self.ready else 503), b""
        if path == "/metrics":
            return (200, answers.metrics(engine, self._name)) if args.enable_metrics else (404, b"")
        pages: dict[str, Any] = {
            "/server_info": lambda: answers.server_info(args, engine),
            "/get_server_info": lambda: answers.server_info(args, engine),
            "/model_info": lambda: answers.model_info(args),
            "/v1/models": lambda: answers.models(args, self._context),
            "/v1/loads": lambda: answers.loads(engine),
            "/flush_cache": lambda: {"message": "Cache flushed."},
            "/freeze_gc": dict,
            "/abort_request": dict,
        }
        page = pages.get(path)
        return (200, answers.packed(page())) if page else (404, b'{"detail":"Not Found"}')

    async def _generate(self, writer: asyncio.StreamWriter, path: str, asked: dict[str, Any]) -> int:
        self._number += 1
        native = path == "/generate"
        one, number = _request(asked, native, self._context), self._number
        if not asked.get("stream"):
            async for _ in self._engine.stream(one):
                pass
            if native:
                text = one.text(0, one.tokens)
                return await _send(
                    writer, 200, answers.packed({"text": text, "meta_info": answers.meta_info(one, number, True)})
                )
            return await _send(writer, 200, answers.packed(answers.chat(one, number, self._name)))
        events = self._native(one, number) if native else self._chat(one, number, asked)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
        async with contextlib.aclosing(events) as stream:
            async for event in stream:
                data = b"data: " + event + b"\n\n"
                writer.write(b"%x\r\n%s\r\n" % (len(data), data))
                await writer.drain()
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()
        return 200

    async def _native(self, one: Request, number: int) -> AsyncGenerator[bytes, None]:
        async with contextlib.aclosing(self._engine.stream(one)) as steps:
            async for _ in steps:
                done = one.tokens >= one.max_tokens
                text = one.text(0, one.tokens)
                yield answers.packed({"text": text, "meta_info": answers.meta_info(one, number, done)})

    async def _chat(self, one: Request, number: int, asked: dict[str, Any]) -> AsyncGenerator[bytes, None]:
        options = asked.get("stream_options") or {}
        name, sent = self._name, 0
        yield answers.packed(answers.chat_chunk(number, name, {"role": "assistant", "content": ""}, None))
        async with contextlib.aclosing(self._engine.stream(one)) as steps:
            async for new in steps:
                chunk = answers.chat_chunk(number, name, {"content": one.text(sent, sent + new)}, None)
                sent += new
                if options.get("continuous_usage_stats"):
                    chunk["usage"] = answers.usage(one)
                yield answers.packed(chunk)
        yield answers.packed(answers.chat_chunk(number, name, {}, one.finish))
        if options.get("include_usage"):
            last = answers.chat_chunk(number, name, {}, None) | {"choices": [], "usage": answers.usage(one)}
            if one.verified:
                meta = answers.meta_info(one, number, True)
                last["sglext"] = {"spec_tokens_details": {k: v for k, v in meta.items() if k.startswith("spec_")}}
            yield answers.packed(last)


def _request(asked: dict[str, Any], native: bool, context: int) -> Request:
    if native:
        sampling = asked.get("sampling_params") or {}
        text, ids = str(asked.get("text") or ""), asked.get("input_ids")
        count = len(ids) if isinstance(ids, list) else max(1, len(text) // 4)
        wanted, ignore = sampling.get("max_new_tokens", 128), bool(sampling.get("ignore_eos"))
    else:
        text = " ".join(str(message.get("content")) for message in asked.get("messages") or [])
        count = max(1, len(text) // 4) + 8
        wanted, ignore = asked.get("max_tokens") or 128, bool(asked.get("ignore_eos"))
    return request(text, count, max(1, min(int(wanted), context)), ignore)


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes) -> int:
    head = f"HTTP/1.1 {status} {_REASONS.get(status, '')}\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    await writer.drain()
    return status
