"""Server-sent events out of a byte stream, whatever way it is cut."""

from __future__ import annotations


class Splitter:
    """`feed` returns the data payloads that the new bytes complete.

    Lines end with LF or CRLF; comments and other fields are ignored; several data lines of one event are joined
    with LF; one space after the colon is removed; an unfinished last event is never returned.
    """

    __slots__ = ("_data", "_rest")

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []

    @property
    def between(self) -> bool:
        """The next byte begins an event."""
        return not self._rest and not self._data

    def feed(self, piece: bytes) -> list[bytes]:
        lines = (self._rest + piece if self._rest else piece).split(b"\n")
        self._rest = lines.pop()
        payloads: list[bytes] = []
        data = self._data
        for line in lines:
            if line[-1:] == b"\r":
                line = line[:-1]
            if not line:
                if data:
                    payloads.append(data[0] if len(data) == 1 else b"\n".join(data))
                    data.clear()
            elif line[:5] == b"data:":
                data.append(line[6:] if line[5:6] == b" " else line[5:])
        return payloads
