"""The sizes of a repository's tensors from its safetensors headers: data, never imported, never the tensors."""

from __future__ import annotations

import json
import os
import re
import stat
import struct
from typing import Any

_MAX_HEADER = 100 << 20
_EXPERT = re.compile(r"\.experts\.\d+\.")


def read(config: dict[str, Any]) -> dict[str, Any]:
    """`config`: `path` of the directory. Answers `groups` [[name, bytes, tensors]] with the numbers of experts
    replaced by `*`, and per file its size, the length that its header gives, and what is wrong with it."""
    folder = config["path"]
    groups: dict[str, list[int]] = {}
    files = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(".safetensors"):
            files.append(_file(os.path.join(folder, name), name, groups))
    return {"groups": [[name, size, count] for name, (size, count) in sorted(groups.items())], "files": files}


def _file(path: str, name: str, groups: dict[str, list[int]]) -> dict[str, Any]:
    status = os.stat(path)
    size = status.st_size
    row: dict[str, Any] = {"name": name, "size_bytes": size, "expected_bytes": None, "problem": ""}
    try:
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is no regular file")
        with open(path, "rb") as stream:
            row["expected_bytes"] = _header(stream, size, groups)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, struct.error) as error:
        row["problem"] = f"{type(error).__name__}: {error}"
        return row
    if row["expected_bytes"] != size:
        row["problem"] = f"the header says {row['expected_bytes']} bytes, the file has {size}"
    return row


def _header(stream: Any, size: int, groups: dict[str, list[int]]) -> int:
    (length,) = struct.unpack("<Q", stream.read(8))
    if length > _MAX_HEADER or length + 8 > size:
        raise ValueError(f"no safetensors header (length {length})")
    header = json.loads(stream.read(length).decode("utf-8"))
    end = 0
    for tensor, entry in header.items():
        if tensor == "__metadata__":
            continue
        start, stop = entry["data_offsets"]
        if not 0 <= start <= stop:
            raise ValueError(f"the offsets of {tensor} do not fit")
        end = max(end, stop)
        total = groups.setdefault(_EXPERT.sub(".experts.*.", tensor), [0, 0])
        total[0] += stop - start
        total[1] += 1
    return int(8 + length + end)
