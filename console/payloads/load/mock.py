"""A server that costs almost nothing: the yardstick for the client, in a process of its own.

It answers any POST with a stream of `tokens` events, one every `gap_s` after `first_s`, in the shape of the asked
endpoint. Connections are served from one loop over a heap of due events.
"""

from __future__ import annotations

import heapq
import json
import os
import selectors
import socket
from time import monotonic
from typing import Any

PAD = "x" * 120


def event(native: bool, count: int, total: int) -> bytes:
    """One chunk of about 300 bytes, as SGLang sends it."""
    last = count >= total
    if native:
        reason = {"type": "length", "length": total} if last else None
        meta = {"id": PAD, "finish_reason": reason, "prompt_tokens": 16, "completion_tokens": count, "cached_tokens": 0}
        body: dict[str, Any] = {"text": "the " * min(count, 16), "meta_info": meta}
    else:
        usage = {"prompt_tokens": 16, "completion_tokens": count, "total_tokens": 16 + count}
        choice = {"index": 0, "delta": {"content": "the "}, "finish_reason": "length" if last else None}
        body = {"id": PAD, "object": "chat.completion.chunk", "choices": [choice], "usage": usage}
    data = b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"
    if last:
        data += b"data: [DONE]\n\n"
    chunk = b"%x\r\n%s\r\n" % (len(data), data)
    return chunk + b"0\r\n\r\n" if last else chunk


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Mock:
    """Serves on a loopback port of its choice until the process ends."""

    def __init__(self, tokens: int, first_s: float, gap_s: float) -> None:
        self._first_s, self._gap_s = first_s, gap_s
        self._events = {native: [event(native, i + 1, tokens) for i in range(tokens)] for native in (True, False)}
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port: int = self._listener.getsockname()[1]
        self._due: list[tuple[float, int, int, bool]] = []
        self._sockets: dict[int, socket.socket] = {}
        self._requests: dict[int, bytes] = {}

    def serve(self) -> None:
        selector = selectors.DefaultSelector()
        self._listener.setblocking(False)
        selector.register(self._listener, selectors.EVENT_READ)
        while True:
            wait = max(0.0, self._due[0][0] - monotonic()) if self._due else None
            for key, _ in selector.select(wait):
                if key.fileobj is self._listener:
                    self._accept(selector)
                else:
                    self._read(selector, key.fd)
            self._send(monotonic())

    def _accept(self, selector: selectors.BaseSelector) -> None:
        connection, _ = self._listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sockets[connection.fileno()] = connection
        self._requests[connection.fileno()] = b""
        selector.register(connection, selectors.EVENT_READ)

    def _read(self, selector: selectors.BaseSelector, fd: int) -> None:
        try:
            data = self._sockets[fd].recv(1 << 20)
        except OSError:
            data = b""
        if not data:
            selector.unregister(self._sockets[fd])
            self._sockets.pop(fd).close()
            self._requests.pop(fd)
            return
        request = self._requests[fd] + data
        head, _, body = request.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
        if len(body) < length:
            self._requests[fd] = request
            return
        self._requests[fd] = b""
        self._sockets[fd].send(HEAD)
        heapq.heappush(self._due, (monotonic() + self._first_s, fd, 0, b" /generate " in head[:40]))

    def _send(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            due, fd, index, native = self._due[0]
            connection, events = self._sockets.get(fd), self._events[native]
            try:
                if connection is None:
                    raise OSError
                connection.send(events[index])
            except OSError:
                heapq.heappop(self._due)
                continue
            if index + 1 < len(events):
                heapq.heapreplace(self._due, (due + self._gap_s, fd, index + 1, native))
            else:
                heapq.heappop(self._due)


def fork(tokens: int, first_s: float, gap_s: float) -> tuple[int, int]:
    """(pid, port) of a mock in a child process. Must be called before an event loop runs."""
    mock = Mock(tokens, first_s, gap_s)
    pid = os.fork()
    if pid:
        mock._listener.close()
        return pid, mock.port
    try:
        mock.serve()
    finally:
        os._exit(0)
