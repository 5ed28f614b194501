"""Old recordings make room: above the limit the oldest are gzipped, then deleted, never one with a note."""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import os
import shutil
from pathlib import Path

LIMIT_BYTES = 2 * 10**9

_NOTE = b',"NoteWritten",{'


def make_room(directory: Path, limit_bytes: int = LIMIT_BYTES) -> None:
    """Bring the recordings of a directory below the limit, oldest first. Another console may do so at once."""
    recordings = sorted(directory.glob("*.jsonl*"), key=lambda path: path.name)
    for step in (_compress, _delete):
        for path in recordings:
            if _total(directory) <= limit_bytes:
                return
            with contextlib.suppress(OSError):
                step(path)
        recordings = sorted(directory.glob("*.jsonl*"), key=lambda path: path.name)


def _total(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.glob("*.jsonl*") if path.exists())


def _compress(path: Path) -> None:
    if path.suffix == ".gz" or _in_use(path):
        return
    zipped = path.with_name(path.name + ".gz")
    descriptor = os.open(zipped, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with path.open("rb") as plain, os.fdopen(descriptor, "wb") as file, gzip.GzipFile("", "wb", fileobj=file) as packed:
        shutil.copyfileobj(plain, packed)
    path.unlink()


def _delete(path: Path) -> None:
    if not _in_use(path) and not _has_note(path):
        path.unlink()


def _in_use(path: Path) -> bool:
    """A recorder holds a lock on the file it writes."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _has_note(path: Path) -> bool:
    with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as lines:
        return any(_NOTE in line for line in lines)
