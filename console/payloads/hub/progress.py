"""How far a download is, from the bytes on the disk: the one measure that no version of the library can change."""

from __future__ import annotations

import json
import math
import os
import time
from typing import Any, Iterator

RATE_TAU_S = 30.0
LIBRARY_FOLDER = os.path.join(".cache", "huggingface", "download")


class Reporter:
    """Appends one JSON object a line to the job's `progress.ndjson`, and knows whether a pause is asked for."""

    def __init__(self) -> None:
        folder = os.environ["GPUDECK_JOB_DIR"]
        self._path, self._pause = os.path.join(folder, "progress.ndjson"), os.path.join(folder, "pause")

    def paused(self) -> bool:
        """Whether the operator asked for a pause."""
        return os.path.exists(self._pause)

    def line(self, **fields: Any) -> None:
        """One line, complete or not at all, with the wall time."""
        data = json.dumps(dict(fields, t=round(time.time(), 3))) + "\n"
        descriptor = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            os.write(descriptor, data.encode())
        except OSError:
            pass  # a full disk must not end the job that reports it
        finally:
            os.close(descriptor)


class Rate:
    """Bytes per second, an exponentially weighted mean over about half a minute."""

    def __init__(self) -> None:
        self.bytes_s: float | None = None
        self._last: tuple[float, int] | None = None

    def update(self, now: float, count: int) -> None:
        if self._last is not None and now > self._last[0]:
            seconds = now - self._last[0]
            current = max(0.0, (count - self._last[1]) / seconds)
            weight = 1.0 - math.exp(-seconds / RATE_TAU_S)
            self.bytes_s = current if self.bytes_s is None else self.bytes_s + weight * (current - self.bytes_s)
        self._last = (now, count)

    def eta_s(self, remaining: int) -> float | None:
        """Seconds until the rest is there; None while nothing moves."""
        if remaining <= 0:
            return 0.0
        return remaining / self.bytes_s if self.bytes_s and self.bytes_s > 1.0 else None


def incomplete(root: str) -> Iterator[tuple[str, str, os.stat_result]]:
    """`(path, etag, stat)` of every temporary file that the library left or is writing."""
    top = os.path.join(root, LIBRARY_FOLDER)
    for folder, _, names in os.walk(top):
        for name in names:
            if name.endswith(".incomplete"):
                parts = name.split(".")
                full = os.path.join(folder, name)
                try:
                    yield full, parts[1] if len(parts) > 2 else "", os.stat(full)
                except OSError:
                    continue


def on_disk(stat: os.stat_result) -> int:
    """Bytes that a file really holds: older builds write sparse ones."""
    return min(stat.st_size, stat.st_blocks * 512)


class Counter:
    """Counts the manifest's bytes under a directory. Only temporary files younger than `since` are in flight."""

    def __init__(self, root: str, files: dict[str, Any], since: float) -> None:
        self._root, self._files, self._since = root, files, since
        self._by_hash = {entry["sha256"] or entry["git_sha1"]: path for path, entry in files.items()}
        self.total = sum(entry["size"] for entry in files.values())

    def read(self) -> dict[str, Any]:
        """`present_bytes`, `files_ok`, `in_flight` `[{"path", "bytes", "size"}]`."""
        flying: dict[str, int] = {}
        for _, etag, stat in incomplete(self._root):
            path = self._by_hash.get(etag)
            if path and stat.st_mtime >= self._since:
                flying[path] = max(flying.get(path, 0), min(on_disk(stat), self._files[path]["size"]))
        present, done = 0, 0
        for path, entry in self._files.items():
            if _size(os.path.join(self._root, path)) == entry["size"]:
                present, done = present + entry["size"], done + 1
                flying.pop(path, None)
        moving = [
            {"path": path, "bytes": count, "size": self._files[path]["size"]} for path, count in sorted(flying.items())
        ]
        return {"present_bytes": present + sum(flying.values()), "files_ok": done, "in_flight": moving}


def _size(path: str) -> int | None:
    try:
        return os.stat(path).st_size
    except OSError:
        return None


class Activity:
    """Whether anything moves: bytes on the disk, on the network, or read by the child (it may be hashing)."""

    QUIET_BYTES_S = 65536.0

    def __init__(self, loopback: bool, window_s: float) -> None:
        self._loopback, self._window_s = loopback, window_s
        self.grew = self.moved = time.monotonic()
        self._most = -1
        self._samples: list[tuple[float, int]] = []

    def update(self, present: int, pid: int) -> None:
        """Takes one reading. `grew`: when the disk last grew, `moved`: when anything last did."""
        now = time.monotonic()
        if present > self._most:
            self._most, self.grew, self.moved = present, now, now
        self._samples.append((now, network_bytes(self._loopback) + _read_bytes(pid)))
        while len(self._samples) > 2 and self._samples[0][0] < now - self._window_s:
            self._samples.pop(0)
        (first, before), (_, after) = self._samples[0], self._samples[-1]
        if now > first and (after - before) / (now - first) > self.QUIET_BYTES_S:
            self.moved = now


def network_bytes(loopback: bool) -> int:
    """Bytes received on every interface; the loopback one counts only when the Hub is there."""
    total = 0
    with open("/proc/net/dev", encoding="ascii", errors="replace") as file:
        for line in file:
            name, colon, rest = line.partition(":")
            if colon and (loopback or name.strip() != "lo"):
                total += int(rest.split()[0])
    return total


def _read_bytes(pid: int) -> int:
    try:
        with open(f"/proc/{pid}/io", encoding="ascii") as file:
            return int(file.readline().split()[1])
    except (OSError, ValueError, IndexError):
        return 0
