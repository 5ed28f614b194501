"""What makes less of a disk usable than it says: RAM and cgroup for /dev/shm, quotas for the rest."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from typing import Iterator

from . import children
from .machine import meminfo, text_of

QUOTA_S = 60.0
QUOTA_DEADLINE_S = 5.0


def ram_limits() -> Iterator[tuple[str, int]]:
    """(name, bytes) of what /dev/shm can take at most: its pages are RAM."""
    available = meminfo().get("MemAvailable")
    if available is not None:
        yield "MemAvailable", available
    for path in _cgroups():
        most, now = text_of(path + "/memory.max"), text_of(path + "/memory.current")
        if most is None:
            most, now = text_of(path + "/memory.limit_in_bytes"), text_of(path + "/memory.usage_in_bytes")
        if most is not None and now is not None and most.strip().isdigit() and int(most) < 1 << 62:
            yield "memory cgroup", max(0, int(most) - int(now))


def _cgroups() -> Iterator[str]:
    """The memory cgroups that hold this process, from its own up to the root (v2, then v1)."""
    for line in (text_of("/proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory") or "memory" in controllers.split(","):
            base = "/sys/fs/cgroup/memory" if controllers else "/sys/fs/cgroup"
            parts = [part for part in path.split("/") if part and part != ".."]
            for depth in range(len(parts), -1, -1):
                yield "/".join([base, *parts[:depth]])


class Quotas:
    """What `quota` says of this user, asked once a minute with a deadline; nothing where there is no such program."""

    def __init__(self) -> None:
        self._left: dict[str, int] = {}
        self._asked_at = -QUOTA_S

    def left(self, source: str) -> int | None:
        """Bytes left on the device or export `source`, or None without a quota."""
        if time.monotonic() - self._asked_at >= QUOTA_S:
            self._asked_at = time.monotonic()
            self._left = _ask_quota()
        return self._left.get(source)


def _ask_quota() -> dict[str, int]:
    program = shutil.which("quota")
    if program is None:
        return {}
    with children.lock:
        process = subprocess.Popen(
            [program, "-w"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ, LC_ALL="C"),
            start_new_session=True,
        )
        children.add(process.pid)
    try:
        answer, _ = process.communicate(timeout=QUOTA_DEADLINE_S)
    except subprocess.TimeoutExpired:
        children.send(process.pid, signal.SIGKILL)
        return {}  # not waited for: it may hang in the kernel, where no signal reaches it
    children.discard(process.pid)
    return parse_quota(answer.decode("utf-8", "replace"))


def parse_quota(text: str) -> dict[str, int]:
    """Bytes left by file system. Rows: file system, blocks of 1 KiB (`*` when over), soft limit, hard limit, …

    The hard limit is where writing ends; the soft one counts when there is no hard one.
    """
    left = {}
    for line in text.splitlines():
        row = re.match(r"\s*(\S+)\s+(\d+)\*?\s+(\d+)\s+(\d+)(?:\s|$)", line)
        if row:
            used, soft, hard = (int(row.group(number)) for number in (2, 3, 4))
            if hard or soft:
                left[row.group(1)] = max(0, (hard or soft) - used) * 1024
    return left
