"""`tail`: follow a log by (inode, offset), so that a new connection goes on exactly where the last one ended."""

from __future__ import annotations

import os
from typing import Any

from .calls import Call, encode
from .files import _open_regular, absolute

PART_BYTES = 64 * 1024


def tail(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Parts {offset, inode, data, event} until cancelled; `offset` is that of the part's first byte.

    Offset -1 starts at the end, and tells in a part without data where that is. `rotated`: another file has the
    name (the old one was read to its end, the new one is read from 0). `truncated`: the file became shorter, reading
    goes on from 0. `missing`: nothing has the name.
    """
    follow = _Follow(call, absolute(a["path"]), a.get("offset", -1), a.get("inode"))
    every_s = max(0.05, a.get("every_s") or 0.25)
    try:
        while not call.cancelled.is_set():
            follow.look()
            call.cancelled.wait(every_s)
    finally:
        follow.close()
    return {}


class _Follow:
    def __init__(self, call: Call, path: str, offset: int, inode: int | None) -> None:
        self._call = call
        self._path = path
        self._offset = offset
        self._inode = inode  # of the file that was read last
        self._fd: int | None = None
        self._missing = False

    def look(self) -> None:
        """One round: what the open file has more, then whether the name is another file's now."""
        if self._fd is not None:
            self._read()
        try:
            inode = os.stat(self._path).st_ino
        except FileNotFoundError:
            self._gone()
            return
        if self._fd is None or inode != self._inode:
            self._open()
            self._read()

    def _gone(self) -> None:
        self.close()
        if not self._missing:
            self._missing = True
            self._send(b"", "missing")

    def _open(self) -> None:
        try:
            fd = _open_regular(self._path)
        except FileNotFoundError:
            return
        if self._fd is not None:
            self._read()  # the last lines of the old file, written between the look and the rename
        self.close()
        self._fd = fd
        status = os.fstat(fd)
        other = self._inode is not None and status.st_ino != self._inode
        self._inode = status.st_ino
        if other:
            self._offset = 0
            self._send(b"", "rotated")
        elif self._offset < 0:
            self._offset = 0 if self._missing else status.st_size
            self._send(b"", None)
        self._missing = False

    def _read(self) -> None:
        if self._fd is None:
            return
        if os.fstat(self._fd).st_size < self._offset:
            self._offset = 0
            self._send(b"", "truncated")
        while not self._call.cancelled.is_set():
            data = os.pread(self._fd, PART_BYTES, self._offset)
            if not data:
                return
            self._send(data, None)
            self._offset += len(data)

    def _send(self, data: bytes, event: str | None) -> None:
        self._call.part({"offset": self._offset, "inode": self._inode, "data": encode(data), "event": event})

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
