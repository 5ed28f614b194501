"""The log keeps to its cap without the writer noticing: copied to `log.1`, then cut to nothing.

The job writes with O_APPEND, so that after the cut it goes on at the beginning.
"""

from __future__ import annotations

import os
import shutil

from . import folder


class Log:
    def __init__(self, directory: str, cap_bytes: int) -> None:
        self._path = os.path.join(directory, folder.LOG)
        self._old = self._path + ".1"
        self._cap = cap_bytes
        flags = os.O_CREAT | os.O_APPEND | os.O_RDWR | os.O_NOFOLLOW
        self.fd = os.open(self._path, flags, 0o600)

    def say(self, sentence: str) -> None:
        """A line of the runner's own. A full disk loses it; the evidence files say the same."""
        try:
            os.write(self.fd, (f"gpudeck: {sentence}\n").encode("utf-8", "backslashreplace"))
        except OSError:
            return

    def cap(self) -> None:
        size = os.fstat(self.fd).st_size
        if size <= self._cap:
            return
        where = "are in log.1" if self._keep() else "were cut, no room for them"
        os.ftruncate(self.fd, 0)
        self.say(f"{size} bytes of log before this line {where}")

    def _keep(self) -> bool:
        """Copy to `log.1`; only one old log is kept, and none on a disk that has no room for it."""
        try:
            if os.path.lexists(self._old):
                os.unlink(self._old)
            descriptor = os.open(self._old, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with open(self._path, "rb") as source, os.fdopen(descriptor, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
        except OSError:
            if os.path.lexists(self._old):
                os.unlink(self._old)
            return False
        return True
