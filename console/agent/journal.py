"""A unit's lines in the journal, read by offset like a log file.

They are copied into a file without a name that lives as long as this agent. The same start of a unit gives the same
bytes each time, so that an offset holds over connections.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import zlib
from typing import Any

from . import children, processes
from .calls import OpError

PREFIX = "journal:"
LINES = 200_000  # of a longer journal the last ones
_CHUNK, _TAIL_BYTES = 1 << 16, 4096
_CURSOR = b"-- cursor: "


def path_of(pid: int, unit: str, scope: str, started_s: Any) -> str:
    """What names the lines of this start: `journal:<scope>:<unit>:<invocation>`, or `@<second of the start>`."""
    environment = processes.words_of(pid, "environ") or []
    found = [word.partition("=")[2] for word in environment if word.startswith("INVOCATION_ID=")]
    return f"{PREFIX}{scope}:{unit}:{found[0] if found else f'@{started_s or 0:.0f}'}"


class Journal:
    """One start of one unit."""

    def __init__(self, path: str) -> None:
        scope, unit, since = path[len(PREFIX) :].split(":", 2)
        which = ["--since", since] if since.startswith("@") else ["_SYSTEMD_INVOCATION_ID=" + since]
        option = "--user-unit" if scope == "user" else "--unit"
        self._argv = [
            "journalctl",
            "--quiet",
            "--no-pager",
            "--output=cat",
            "--show-cursor",
            f"{option}={unit}",
            *which,
        ]
        self._from = ["--lines", str(LINES)]
        self._file = tempfile.TemporaryFile(prefix="gpudeck-journal-")  # noqa: SIM115 - as long as the agent
        self._lock = threading.Lock()

    def open(self) -> int:
        """A descriptor of everything up to now; the caller closes it. OpError when the journal cannot be asked."""
        with self._lock:
            self._refresh()
            return os.dup(self._file.fileno())

    def inode(self) -> int:
        """Tells one beginning from another: a journal that was cut at its start is another file."""
        first = os.pread(self._file.fileno(), _TAIL_BYTES, 0)
        return zlib.crc32(first.partition(b"\n")[0]) if b"\n" in first else 0

    def _refresh(self) -> None:
        try:
            with children.lock:
                child = subprocess.Popen(
                    self._argv + self._from, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, start_new_session=True, env=dict(os.environ, LC_ALL="C"),
                )  # fmt: skip
                children.add(child.pid)
        except OSError as error:
            raise OpError("not_found", f"journalctl cannot be started: {error.strerror}") from None
        with child:
            self._copy(child.stdout)
        children.discard(child.pid)
        if child.returncode and not self._file.tell():
            raise OpError("permission", f"journalctl gives nothing of it: exit code {child.returncode}")

    def _copy(self, stream: Any) -> None:
        """Append the lines; the last one tells the cursor from which the next call goes on."""
        held = b""
        for data in iter(lambda: stream.read(_CHUNK), b""):
            held += data
            self._file.write(held[:-_TAIL_BYTES])
            held = held[-_TAIL_BYTES:]
        lines, mark, cursor = held.rpartition(_CURSOR)
        self._file.write(lines if mark else held)
        self._file.flush()
        if mark:
            self._from = ["--after-cursor", cursor.decode("ascii").strip()]


_journals: dict[str, Journal] = {}
_lock = threading.Lock()


def journal_of(path: str) -> Journal:
    """The journal behind such a path, the same one for all who ask."""
    with _lock:
        if path not in _journals:
            _journals[path] = Journal(path)
        return _journals[path]
