"""Writes the facts of a session as they happen. Its own failure is a fact, too; the session lives."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

import msgspec

from console.events import Stamped
from console.journal.codec import encode
from console.journal.header import Header
from console.values.secrets import redact

FLUSH_S = 1.0


class Recorder:
    """A listener of the bus. Lines are flushed once a second, and when the recorder closes."""

    def __init__(self, path: Path, header: Header, failed: Callable[[str], None]) -> None:
        """Create the file, 0600; an existing one raises FileExistsError. `failed` hears the reason of a failure."""
        self.path = path
        self._failed = failed
        self._flushed_t = 0.0
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # says that the file is in use to whoever makes room
        self._file: IO[bytes] | None = os.fdopen(descriptor, "wb")
        self._file.write(msgspec.json.encode(header) + b"\n")
        self._file.flush()

    @property
    def recording(self) -> bool:
        """False once writing has failed or the recorder was closed."""
        return self._file is not None

    def record(self, stamped: Stamped) -> None:
        """Append one fact."""
        if self._file is None:
            return
        try:
            self._file.write(redact(encode(stamped).decode()).encode())
            if stamped.t - self._flushed_t >= FLUSH_S:
                self._flushed_t = stamped.t
                self._file.flush()
        except OSError as error:
            self._give_up(error)

    def close(self) -> None:
        """Flush and close; a failure here is told like any other."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            file.close()
        except OSError as error:
            self._failed(error.strerror or str(error))

    def _give_up(self, error: OSError) -> None:
        file, self._file = self._file, None
        with contextlib.suppress(OSError):  # what is still buffered cannot be written either
            if file is not None:
                file.close()
        self._failed(error.strerror or str(error))
