"""Proof that the kernel killed for memory. Signal 9 alone proves nothing: anybody may send it."""

from __future__ import annotations

import os
import re

_KILLED = re.compile(r"Killed process (\d+) \(([^)]*)\)")


class Watch:
    """Counts the memory kills of this process's cgroup, and remembers when there was a new one."""

    def __init__(self) -> None:
        self._file = _counter_file()
        self.first = self._count()
        self.last = self.first

    def look(self) -> None:
        """Remember the count of now: what comes later is younger."""
        self.last = self._count()

    def evidence(self, pids: list[int], start_us: int) -> str | None:
        """A sentence that proves that one of `pids` was killed since the last look, or None."""
        count = self._count()
        if self._file and count is not None and self.last is not None and count > self.last:
            return f"{self._file}: oom_kill {self.last} → {count}"
        return _kernel_line(pids, start_us)

    def kills(self) -> int | None:
        """Memory kills in the cgroup since the start; None when it cannot be known."""
        count = self._count()
        return None if count is None or self.first is None else count - self.first

    def _count(self) -> int | None:
        if self._file is None:
            return None
        try:
            with open(self._file, encoding="ascii") as file:
                return next((int(line.split()[1]) for line in file if line.startswith("oom_kill ")), None)
        except OSError:
            return None


def _counter_file() -> str | None:
    """`memory.events` (v2) or `memory.oom_control` (v1) of our own cgroup."""
    mounts = _mounts()
    try:
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return None
    for _, controllers, group in lines:
        if controllers == "":
            kind, name = "cgroup2", "memory.events"
        elif "memory" in controllers.split(","):
            kind, name = "memory", "memory.oom_control"
        else:
            continue
        root, mount = mounts.get(kind, ("/", ""))
        inside = group[len(root) :] if root != "/" and group.startswith(root) else group
        path = os.path.join(mount, inside.lstrip("/"), name)
        if mount and os.path.isfile(path):
            return path
    return None


def _mounts() -> dict[str, tuple[str, str]]:
    """Kind → (root inside the hierarchy, mount point)."""
    found: dict[str, tuple[str, str]] = {}
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            for line in file:
                before, _, after = line.partition(" - ")
                fields, (kind, _, options) = before.split(), after.split()[:3]
                if kind == "cgroup2":
                    found["cgroup2"] = (fields[3], fields[4])
                elif kind == "cgroup" and "memory" in options.split(","):
                    found["memory"] = (fields[3], fields[4])
    except (OSError, ValueError):
        return found
    return found


def _kernel_line(pids: list[int], start_us: int) -> str | None:
    """The kernel log's own words about one of `pids`, younger than `start_us` since the boot."""
    try:
        handle = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        while True:
            try:
                record = os.read(handle, 8192).decode("utf-8", "replace")
            except BrokenPipeError:  # overwritten while we read: the next one is there
                continue
            head, _, text = record.partition(";")
            found = _KILLED.search(text)
            if found and int(found[1]) in pids and int(head.split(",")[2]) >= start_us:
                return text.split("\n", 1)[0].strip()
    except (OSError, ValueError):  # the end of the log, or no right to read it
        return None
    finally:
        os.close(handle)
