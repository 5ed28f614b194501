"""What the worker leaves behind: one line a second, one line a request, one file a point."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import re
import time
from typing import Any

SHORTEST = 6  # a shorter key is a part of common words
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def dumps(data: Any) -> str:
    """Compact ASCII JSON. NaN and Infinity are refused: an undefined number is null."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


class Output:
    """Files in the job's directory. `directory/progress.ndjson`, `directory/points/<name>.json` and `.ndjson.gz`.

    `secret`: the server's key, which a server may say back in an error; no file holds it.
    """

    def __init__(self, directory: str, secret: str = "") -> None:
        self._secret = dumps(secret)[1:-1]
        self._points = os.path.join(directory, "points")
        os.makedirs(self._points, mode=0o700, exist_ok=True)
        path = os.path.join(directory, "progress.ndjson")
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def line(self, kind: str, **fields: Any) -> None:
        """One progress line with both clocks. A full disk must not end the measurement."""
        row = {"k": kind, "m": round(time.monotonic(), 6), "t": round(time.time(), 3)}
        row.update(fields)
        with contextlib.suppress(OSError):
            os.write(self._file, (self._masked(dumps(row)) + "\n").encode())

    def done(self, name: str) -> bool:
        return os.path.exists(os.path.join(self._points, name + ".json"))

    def point(self, name: str, result: dict[str, Any], requests: list[dict[str, Any]]) -> None:
        """The requests first, the result last: a result that exists is complete."""
        lines = "".join(dumps(request) + "\n" for request in requests)
        self._write(name + ".ndjson.gz", gzip.compress(self._masked(lines).encode(), 5))
        self._write(name + ".json", self._masked(dumps(result)).encode())

    def _masked(self, text: str) -> str:
        """JSON without the key, inside its strings alone: a key of digits must not spoil a number."""
        if len(self._secret) < SHORTEST or self._secret not in text:
            return text
        return STRING.sub(lambda found: found.group(0).replace(self._secret, "***"), text)

    def _write(self, name: str, data: bytes) -> None:
        path = os.path.join(self._points, name)
        handle = os.open(path + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(path + ".tmp", path)
