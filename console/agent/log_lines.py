"""A server's log on its way to the laptop: whole lines only, secrets masked before they leave the box.

SGLang prints its arguments, API keys in clear, into its own log. A line is masked as a whole, so the growing end is
held back until its line (or progress frame) is complete.
"""

from __future__ import annotations

import os
import re
from typing import Any

from .calls import Call, encode
from .files import _open_regular, absolute
from .masking import MASK, is_secret_name, mask_text
from .tail import PART_BYTES, _Follow

MAX_LINE = 1 << 20
_VALUE = re.compile(r"""(['"]?)([A-Za-z][\w-]*)\1(\s*[:=]\s*)(?:'[^']*'|"[^"]*")""")
# Behind a blank, two dashes begin the next option; behind `=` they belong to the value.
_OPTION = re.compile(r"--([A-Za-z][\w-]*)(=| +(?!--))[^\s'\",\])]+")


def mask_log(data: bytes) -> bytes:
    """Whole lines with `api_key='…'`, `"hf_token": "…"`, `--api-key …` and tokens by their shape masked."""
    text = data.decode("utf-8", "surrogateescape")
    text = _VALUE.sub(_mask_value, text)
    text = _OPTION.sub(_mask_option, text)
    return mask_text(text).encode("utf-8", "surrogateescape")


def _mask_value(found: re.Match[str]) -> str:
    quote, name, between = found.groups()
    return f"{quote}{name}{quote}{between}'{MASK}'" if is_secret_name(name) else found.group(0)


def _mask_option(found: re.Match[str]) -> str:
    name, between = found.groups()
    return f"--{name}{between}{MASK}" if is_secret_name(name) else found.group(0)


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
    """Like `tail`, with parts {offset, next, inode, data, event} of whole, masked lines."""
    follow = _Lines(call, absolute(a["path"]), a.get("offset", -1), a.get("inode"))
    every_s = max(0.05, a.get("every_s") or 0.25)
    try:
        while not call.cancelled.is_set():
            follow.look()
            call.cancelled.wait(every_s)
    finally:
        follow.close()
    return {}


def log_read(call: Call, a: dict[str, Any]) -> dict[str, Any]:
    """One part of whole, masked lines from `offset`: {data, offset, next, size, inode}. `next` = `offset` at the end.

    With `align` the reading starts behind the first line break at or after `offset`; with `rest` the last line
    needs no end (its writer is gone); nothing is read at or behind `end`, the end of a line.
    """
    fd = _open_regular(absolute(a["path"]))
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
        return dict(answer, size=status.st_size, inode=status.st_ino)
    finally:
        os.close(fd)


class _Lines(_Follow):
    def _read(self) -> None:
        if self._fd is None:
            return
        if os.fstat(self._fd).st_size < self._offset:
            self._offset = 0
            self._send(b"", "truncated")
        while not self._call.cancelled.is_set():
            data = whole_lines(self._fd, self._offset)
            if not data:
                return
            self._send(data, None)
            self._offset += len(data)

    def _send(self, data: bytes, event: str | None) -> None:
        masked = encode(mask_log(data))
        where = {"offset": self._offset, "next": self._offset + len(data), "inode": self._inode}
        self._call.part(dict(where, data=masked, event=event))
