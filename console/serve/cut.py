"""Bytes of a growing log, cut into pieces of text.

A progress bar writes `\\r` *before* each frame, and another thread's line may follow a frame with nothing in
between: pieces end at `\\r`, `\\n`, behind a frame's `]`, and in front of a stamp that is not at the start. The
result depends on the bytes alone, never on how they were chunked.
"""

from __future__ import annotations

import re
from itertools import pairwise

from console.values import CleanText, clean

MAX_LINE_BYTES = 256 * 1024

_SEPARATORS = re.compile(rb"[\r\n]+")
_STAMP_INSIDE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
_CLOCK = r"\d{1,9}(?::\d\d){1,2}"
# Everything in it is bounded: a line may be as long as a stranger likes.
FRAME = re.compile(
    r"(?P<task>.{0,2000}?)(?P<percent>\d{1,3})%(?:\|[^|]{0,500}\|| Completed \|) {0,9}(?P<done>\d{1,15})/"
    rf"(?P<total>\d{{1,15}}) \[(?P<elapsed>{_CLOCK})<(?P<eta>{_CLOCK}|\?), {{0,9}}"
    r"(?P<rate>\d{1,15}(?:\.\d{1,15})?|\?)(?P<unit>it/s|s/it)[^\]]{0,500}\]"
)


class LineCutter:
    """Feed it bytes; it answers with the pieces that are complete, cleaned, blank ones left out."""

    def __init__(self) -> None:
        self._rest = b""

    @property
    def rest(self) -> CleanText:
        """What has no end yet: a progress frame, or a line that is being written."""
        return _decode(self._rest)

    def feed(self, data: bytes) -> list[CleanText]:
        parts = _SEPARATORS.split(self._rest + data)
        self._rest = parts.pop()[:MAX_LINE_BYTES]
        return _pieces(parts)

    def close(self) -> list[CleanText]:
        """The log has ended: the rest is a line."""
        rest, self._rest = self._rest, b""
        return _pieces([rest])


def _decode(part: bytes) -> CleanText:
    return clean(part[:MAX_LINE_BYTES].decode("utf-8", "replace"), MAX_LINE_BYTES)


def _pieces(parts: list[bytes]) -> list[CleanText]:
    pieces: list[CleanText] = []
    for part in parts:
        text = _decode(part)
        if "/it]" in text or "it/s" in text:
            pieces.extend(_unglue_frame(text))
        elif _STAMP_INSIDE.search(text, 1):
            pieces.extend(_unglue_stamps(text))
        elif text and not text.isspace():
            pieces.append(text)
    return pieces


def _unglue_frame(text: str) -> list[CleanText]:
    """A frame, and what another thread wrote behind it."""
    frame = FRAME.match(text)
    if frame is None:
        return _unglue_stamps(text)
    return [CleanText(frame.group(0)), *_unglue_stamps(text[frame.end() :])]


def _unglue_stamps(text: str) -> list[CleanText]:
    cuts = [0, *(match.start() for match in _STAMP_INSIDE.finditer(text, 1)), len(text)]
    pieces = (text[start:end] for start, end in pairwise(cuts))
    return [CleanText(piece) for piece in pieces if piece and not piece.isspace()]
