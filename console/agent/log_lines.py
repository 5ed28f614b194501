"""A server's log on its way to the laptop: whole lines only, secrets masked before they leave the box.

SGLang prints its arguments, API keys in clear, into its own log. A line is masked as a whole, so the growing end is
held back until its line (or progress frame) is complete.
"""

from __future__ import annotations

import os
import re
from typing import Any

from .calls import Call, encode
from .masking import MASK, is_secret_name, mask_text
from .tail import PART_BYTES, follow, open_log

MAX_LINE = 1 << 20
# Names begin where a word does and end some time: a line of a megabyte must not cost a minute.
_VALUE = re.compile(r"""(['"]?)(?<!\w)([A-Za-z][\w-]{0,99})\1(\s{0,9}[:=]\s{0,9})(?:'[^']*'|"[^"]*")""")


def mask_log(data: bytes) -> bytes:
    """Whole lines with `api_key='…'`, `"hf_token": "…"`, `--api-key …` and tokens by their shape masked."""
    text = data.decode("utf-8", "surrogateescape")
    text = _VALUE.sub(_mask_value, text)
    return mask_text(text).encode("utf-8", "surrogateescape")


def _mask_value(found: re.Match[str]) -> str:
    quote, name, between = found.groups()
    return f"{quote}{name}{quote}{between}'{MASK}'" if is_secret_name(name) else found.group(0)


def whole_lines(fd: int, offset: int) -> bytes:
    """What stands from `offset` up to the last complete line of one part; a line without end is cut at 1 MiB."""
    size = PART_BYTES
    while True:
        data = os.pread(fd, size, offset)
        end = max(data.rfind(b"\n"), data.rfind(b"\r")) + 1
        if end:
            return data[:end]
        if len(data) < size:
            return b""
        if size >= MAX_LINE:
            return data
        size *= 4


def log_follow(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """Like `tail`, of whole, masked lines."""
    return follow(call, a, whole_lines, mask_log)


def log_read(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """One part of whole, masked lines from `offset`: {data, offset, next, size, mtime, inode}. `next` = `offset` at
    the end.

    With `align` the reading starts behind the first line break at or after `offset`; with `rest` the last line
    needs no end (its writer is gone); nothing is read at or behind `end`, the end of a line.
    """
    fd, inode = open_log(a["path"])
    try:
        status = os.fstat(fd)
        offset = int(a.get("offset") or 0)
        if a.get("align") and offset:
            head = os.pread(fd, MAX_LINE, offset)
            offset += head.find(b"\n") + 1
        data = whole_lines(fd, offset) or (os.pread(fd, PART_BYTES, offset) if a.get("rest") else b"")
        if a.get("end") is not None:
            data = data[: max(0, int(a["end"]) - offset)]
        answer = {"data": encode(mask_log(data)), "offset": offset, "next": offset + len(data)}
        return dict(answer, size=status.st_size, mtime=status.st_mtime, inode=inode)
    finally:
        os.close(fd)
