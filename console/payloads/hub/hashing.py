"""Hashes of many files at once. `hashlib` and `readinto` let go of the interpreter lock, so threads are enough."""

from __future__ import annotations

import hashlib
import os
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Iterator

CHUNK = 4 << 20


class Progress:
    """Bytes hashed so far, over all threads."""

    def __init__(self) -> None:
        self.bytes = 0
        self._lock = threading.Lock()

    def add(self, count: int) -> None:
        with self._lock:
            self.bytes += count


def hash_file(path: str, size: int, entry: dict[str, Any], progress: Progress) -> str:
    """The file's hash in the manifest's own way: sha256 of LFS files, git's blob hash of small ones."""
    digest = hashlib.sha256() if entry["sha256"] else hashlib.sha1(b"blob %d\0" % size)
    buffer = bytearray(CHUNK)
    view = memoryview(buffer)
    with open(path, "rb", buffering=0) as file:
        while True:
            count = file.readinto(buffer)
            if not count:
                return digest.hexdigest()
            digest.update(view[:count])
            progress.add(count)


def hash_all(
    root: str, files: list[tuple[str, dict[str, Any]]], progress: Progress, workers: int | None = None
) -> Iterator[tuple[str, str]]:
    """`(path, hash or "")` of each file as it is done; an unreadable file has none. Largest first."""
    ordered = sorted(files, key=lambda item: -(item[1]["size"] or 0))
    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        running = {
            pool.submit(hash_file, os.path.join(root, path), entry["size"], entry, progress): path
            for path, entry in ordered
        }
        for future in as_completed(running):
            try:
                yield running[future], future.result()
            except OSError:
                yield running[future], ""
