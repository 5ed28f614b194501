"""Requests and answers of the fake Hub, and the threads that carry them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

from console.demo.hub.content import BLOCK, Content
from console.demo.hub.faults import Faults


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes
    base: str


@dataclass
class Answer:
    """What it gets: a body, or a part of a content."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    content: Content | None = None
    start: int = 0
    count: int = 0

    @property
    def length(self) -> int:
        return self.count if self.content else len(self.body)


class HubError(Exception):
    """A refusal with the headers that the Hub sends."""

    def __init__(self, status: int, message: str, code: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, headers or {}

    def answer(self) -> Answer:
        headers = {"Content-Type": "application/json", **self.headers}
        if self.message.isascii() and self.message.isprintable():  # what a header cannot carry is in the body alone
            headers["X-Error-Message"] = self.message
        if self.code:
            headers["X-Error-Code"] = self.code
        return Answer(self.status, headers, json.dumps({"error": self.message}).encode())


def json_answer(data: object, headers: dict[str, str] | None = None) -> Answer:
    """A JSON document."""
    return Answer(200, {"Content-Type": "application/json", **(headers or {})}, json.dumps(data).encode())


def byte_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Start and count of a `Range: bytes=a-b`; None when the whole is asked; raises 416 past the end."""
    if not header or not header.startswith("bytes="):
        return None
    first, _, last = header[6:].partition("-")
    start = int(first) if first else max(0, size - int(last))
    if start >= size and size:
        raise HubError(416, "range past the end", headers={"Content-Range": f"bytes */{size}"})
    end = min(int(last), size - 1) if first and last else size - 1
    return start, end - start + 1


class Origin:
    """One loopback server; `respond` runs in a thread a connection."""

    def __init__(self, host: str, faults: Faults, respond: Callable[[Request], Answer]) -> None:
        handler = type("Handler", (_Handler,), {"respond": staticmethod(respond), "faults": faults})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.url = f"http://{host}:{self._server.server_address[1]}"

    def serve(self) -> None:
        """Answers until `close`; meant for a thread."""
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stops answering; open connections end with their threads."""
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is nobody's error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    respond: Callable[[Request], Answer]
    faults: Faults

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(
            self.command,
            unquote(parts.path),
            parse_qs(parts.query),
            {key.lower(): value for key, value in self.headers.items()},
            self.rfile.read(length),
            f"http://{self.headers.get('Host', '')}",
        )
        try:
            answer = self.respond(request)
        except HubError as error:
            answer = error.answer()
        self._send(request, answer)

    do_GET = do_HEAD = do_POST = _serve

    def _send(self, request: Request, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("X-Request-Id", "Root=1-00000000-000000000000000000000000")
        for key, value in answer.headers.items():
            self.send_header(key, value)
        if "Content-Length" not in answer.headers:
            self.send_header("Content-Length", str(answer.length))
        self.end_headers()
        if request.method == "HEAD":
            return
        sent = 0
        for chunk in _chunks(answer, self.faults):
            if self._cut_here(request, answer, sent, len(chunk)):
                return
            self.wfile.write(chunk)
            sent += len(chunk)
            self._pace(request, answer, len(chunk))

    def _cut_here(self, request: Request, answer: Answer, sent: int, coming: int) -> bool:
        faults = self.faults
        if not answer.content or faults.cut_left <= 0 or not faults.hits(request.path):
            return False
        if sent + coming <= faults.cut_after_bytes:
            return False
        faults.cut_left -= 1
        self.close_connection = True
        return True

    def _pace(self, request: Request, answer: Answer, count: int) -> None:
        faults = self.faults
        if not answer.content or not faults.hits(request.path):
            return
        while faults.hang:
            time.sleep(0.05)
        if faults.rate_bytes_s:
            time.sleep(count / faults.rate_bytes_s)

    def log_message(self, *_: object) -> None:
        """The Hub keeps its own list of requests."""


def _chunks(answer: Answer, faults: Faults) -> Iterator[bytes]:
    if not answer.content:
        if answer.body:
            yield answer.body
        return
    offset, end = answer.start, answer.start + answer.count
    largest = min(BLOCK, 1 << 14) if faults.rate_bytes_s else BLOCK
    while offset < end:
        chunk = answer.content.read(offset, min(end - offset, largest))
        offset += len(chunk)
        yield bytes([chunk[0] ^ 1]) + chunk[1:] if faults.corrupt else chunk
