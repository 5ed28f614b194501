"""What came with a model, strangers wrote: names that lead elsewhere, files without end, JSON without bottom."""

from __future__ import annotations

import errno
import json
import os
import stat
from typing import Any


def inside(path: Any) -> bool:
    """Whether this is the name of a file below the repository's own directory."""
    return isinstance(path, str) and "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


def parse(data: bytes) -> Any:
    """The JSON value. Raises ValueError, also for what is nested too deeply."""
    try:
        return json.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json(path: str, most: int) -> Any:
    """The JSON value of a regular file of at most `most` bytes. Raises OSError and ValueError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
        data = file.read(most + 1)
    if len(data) > most:
        raise ValueError(f"it is larger than {most >> 20} MiB")
    return parse(data)


def shards(index: Any) -> list[str]:
    """The files that a safetensors index names. Raises ValueError, KeyError, TypeError and AttributeError."""
    found = set(index["weight_map"].values())
    if not all(map(inside, found)):
        raise ValueError("it names a file outside of the repository")
    return sorted(found)
