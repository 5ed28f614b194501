"""One HTTP/1.1 response out of a byte stream: status, then pieces of the body."""

from __future__ import annotations

MAX_HEAD = 65536


class BadResponse(Exception):
    """The bytes are no HTTP/1.1 response."""


class Response:
    """`feed` returns the body pieces of the new bytes; `complete` says that the response is over.

    A body ends by its chunks, by its length, or by the end of the connection (`reusable` is then false).
    """

    __slots__ = ("_buffer", "_chunked", "_left", "complete", "headers", "reusable", "status")

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = False
        self.reusable = True
        self._buffer = b""
        self._chunked = False
        self._left: int | None = None

    @property
    def between(self) -> bool:
        """The next byte begins a chunk of a good answer."""
        return self._chunked and not self._buffer and not self.complete and self.status == 200

    def feed(self, data: bytes) -> list[bytes]:
        if self._buffer:
            data = self._buffer + data
            self._buffer = b""
        if not self.status:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > MAX_HEAD:
                    raise BadResponse("the head of the answer is too long")
                self._buffer = data
                return []
            self._read_head(data[:end])
            data = data[end + 4 :]
        if self._chunked:
            return self._chunks(data)
        return self._plain(data)

    def _read_head(self, head: bytes) -> None:
        lines = head.decode("latin-1").split("\r\n")
        words = lines[0].split(" ", 2)
        if not words[0].startswith("HTTP/1.") or len(words) < 2 or not words[1].isdigit():
            raise BadResponse("the answer is no HTTP/1.1")
        self.status = int(words[1])
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self._chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length", "")
        if length.isdigit():
            self._left = int(length)
        self.reusable = self.headers.get("connection", "").lower() != "close"
        if not self._chunked and self._left is None:
            self.reusable = False

    def _plain(self, data: bytes) -> list[bytes]:
        if self._left is None:
            return [data] if data else []
        data = data[: self._left]
        self._left -= len(data)
        self.complete = self._left == 0
        return [data] if data else []

    def _chunks(self, data: bytes) -> list[bytes]:
        """Whole chunks only: a chunk that is not complete waits for the next bytes."""
        pieces: list[bytes] = []
        start = 0
        while True:
            line_end = data.find(b"\r\n", start)
            if line_end < 0:
                break
            try:
                size = int(data[start:line_end].partition(b";")[0], 16)
            except ValueError:
                raise BadResponse("a chunk without a size") from None
            body = line_end + 2
            if len(data) < body + size + 2:
                break
            if size == 0:
                self.complete = True
                return pieces
            pieces.append(data[body : body + size])
            start = body + size + 2
        self._buffer = data[start:]
        return pieces


def lone_event(data: bytes) -> bytes | None:
    """The payload when these bytes are one whole chunk with one whole event of JSON, as nearly all reads are.

    Only between two chunks, and between two events; everything else goes the long way.
    """
    at = data.find(b"\r\n") + 2
    if data[at : at + 6] == b"data: " and data[-5:] == b"}\n\n\r\n" and data[:at] == b"%x\r\n" % (len(data) - at - 2):
        payload = data[at + 6 : -4]
        return None if b"\n" in payload else payload
    return None
