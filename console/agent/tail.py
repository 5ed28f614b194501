"""`tail`: follow a log by (inode, offset), so that a new connection goes on exactly where the last one ended."""

from __future__ import annotations

import os
from typing import Any, Callable

from .calls import Call, encode
from .files import _open_regular, absolute
from .journal import PREFIX, journal_of

PART_BYTES = 64 * 1024
Cut = Callable[[int, int], bytes]
JOURNAL_S = 1.0  # each look at a journal is a process


def tail(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Parts {offset, next, inode, data, event} until cancelled; `offset` is that of the part's first byte.

    Offset -1 starts at the end, and tells in a part without data where that is. `rotated`: another file has the
    name (the old one was read to its end, the new one is read from 0). `truncated`: the file became shorter, reading
    goes on from 0. `missing`: nothing has the name.
    """
    return follow(call, a, lambda fd, offset: os.pread(fd, PART_BYTES, offset), bytes)


def follow(call: Call, a: dict[str, Any], cut: Cut, shown: Callable[[bytes], bytes]) -> dict[str, Any]:
    """`cut` reads the next part from (descriptor, offset), empty when there is none yet; `shown` is what is told."""
    one = _Follow(call, a, cut, shown)
    every_s = max(0.05, a.get("every_s") or 0.25, JOURNAL_S if a["path"].startswith(PREFIX) else 0)
    try:
        while not call.cancelled.is_set():
            one.look()
            call.cancelled.wait(every_s)
    finally:
        one.close()
    return {}


def open_log(path: str) -> tuple[int, int]:
    """(descriptor, inode) of a log: a regular file, or what the journal has up to now."""
    if path.startswith(PREFIX):
        journal = journal_of(path)
        return journal.open(), journal.inode()
    fd = _open_regular(absolute(path))
    return fd, os.fstat(fd).st_ino


def _inode(path: str) -> int:
    """Of what has the name now; a journal's lines up to now are there afterwards."""
    if not path.startswith(PREFIX):
        return os.stat(absolute(path)).st_ino
    fd, inode = open_log(path)
    os.close(fd)
    return inode


class _Follow:
    def __init__(self, call: Call, a: dict[str, Any], cut: Cut, shown: Callable[[bytes], bytes]) -> None:
        self._call, self._cut, self._shown = call, cut, shown
        self._path: str = a["path"]
        self._offset: int = a.get("offset", -1)
        self._inode: int | None = a.get("inode")  # of the file that was read last
        self._fd: int | None = None
        self._missing = False

    def look(self) -> None:
        """One round: what the open file has more, then whether the name is another file's now."""
        if self._fd is not None:
            self._read()
        try:
            inode = _inode(self._path)
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
            fd, inode = open_log(self._path)
        except FileNotFoundError:
            return
        if self._fd is not None:
            self._read()  # the last lines of the old file, written between the look and the rename
        self.close()
        self._fd = fd
        other = self._inode is not None and inode != self._inode
        self._inode = inode
        if other:
            self._offset = 0
            self._send(b"", "rotated")
        elif self._offset < 0:
            self._offset = 0 if self._missing else os.fstat(fd).st_size
            self._send(b"", None)
        self._missing = False

    def _read(self) -> None:
        if self._fd is None:
            return
        if os.fstat(self._fd).st_size < self._offset:
            self._offset = 0
            self._send(b"", "truncated")
        while not self._call.cancelled.is_set():
            data = self._cut(self._fd, self._offset)
            if not data:
                return
            self._send(data, None)
            self._offset += len(data)

    def _send(self, data: bytes, event: str | None) -> None:
        where = {"offset": self._offset, "next": self._offset + len(data), "inode": self._inode}
        self._call.part(dict(where, data=encode(self._shown(data)), event=event))

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
