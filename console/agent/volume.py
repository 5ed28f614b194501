"""One file system's numbers: read here, or for one that can hang in a child process with a deadline."""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import time
from typing import Any

from . import children
from .mounts import Mount
from .wire import unknown

CHILD_DEADLINE_S = 2.0
FULL_BYTES = 1024 * 1024


def measure(path: str) -> dict[str, Any]:
    """Bytes and inodes of the file system at `path`, or {"error": sentence}."""
    try:
        status = os.statvfs(path)
    except OSError as error:
        if error.errno == errno.ESTALE:
            return {"error": "stale handle: the server has forgotten the export"}
        return {"error": os.strerror(error.errno or 0)}
    unit = status.f_frsize or status.f_bsize
    return {
        "total": status.f_blocks * unit,
        "available": status.f_bavail * unit,
        "reserved": max(0, status.f_bfree - status.f_bavail) * unit,
        "inodes": status.f_favail if status.f_files else None,
        "read_only": bool(status.f_flag & os.ST_RDONLY),
    }


class Volume:
    """A file system to walk. `numbers` is the last answer; None before the first."""

    def __init__(self, mount: Mount) -> None:
        self.mount = mount
        self.numbers: dict[str, Any] | None = None

    def read(self) -> None:
        self.numbers = measure(self.mount.path)

    def stuck_s(self) -> float | None:
        return None


class NetworkVolume(Volume):
    """statvfs on a dead hard mount never returns and cannot be killed: it is left to a child, one at a time."""

    def __init__(self, mount: Mount) -> None:
        super().__init__(mount)
        self._child = 0
        self._pipe = -1
        self._since = 0.0

    def start(self) -> None:
        """Ask, unless the last question is still open."""
        if not self._child:
            self._ask()

    def read(self) -> None:
        """Take the answer; waits for it at most until the deadline after the question."""
        left = self._since + CHILD_DEADLINE_S - time.monotonic()
        if self._child and select.select([self._pipe], [], [], max(0.0, left))[0]:
            self._take()

    def stuck_s(self) -> float | None:
        return time.monotonic() - self._since if self._child else None

    def _ask(self) -> None:
        """Fork, not exec: a millisecond instead of twenty. The child makes system calls only, then ends."""
        self._pipe, answer = os.pipe()
        self._since = time.monotonic()
        with children.lock:
            self._child = os.fork()
            if self._child:
                children.add(self._child)
        if self._child == 0:
            try:
                os.setsid()
                os.dup2(answer, 3)
                for fd in range(3):  # it may live for ever, and must not hold the connection open
                    os.close(fd)
                os.closerange(4, 4096)
                for number in (signal.SIGALRM, signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                    signal.signal(number, signal.SIG_DFL)
                os.write(3, json.dumps(measure(self.mount.path)).encode("ascii"))
            finally:
                os._exit(0)
        os.close(answer)

    def _take(self) -> None:
        data = os.read(self._pipe, 4096)
        os.close(self._pipe)
        os.waitpid(self._child, 0)
        children.discard(self._child)
        self._child = 0
        self.numbers = json.loads(data.decode("ascii")) if data else {"error": "the child that asked it died"}


def state_of(mount: Mount, numbers: dict[str, Any], available: int) -> tuple[str, str]:
    """(state, reason) of a file system that answered."""
    if numbers["read_only"] or mount.mount_read_only:
        if mount.super_read_only and not mount.mount_read_only:
            return "read_only", "mounted for writing, but the file system turned read-only (errors=remount-ro)"
        return "read_only", ""
    if available < FULL_BYTES:
        return "full", ""
    if numbers["inodes"] == 0:
        return "full", "no inodes left"
    return "ok", ""


def silent(reason: str) -> dict[str, Any]:
    nothing = unknown(reason)
    names = ("total_bytes", "available_bytes", "reserved_bytes", "inodes_free")
    return dict.fromkeys(names, nothing)
