"""The frames of the agent protocol as the laptop reads them."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from console.remote.pipe import MAX_FRAME
from console.values import strict_json, too_deep


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One frame of the agent.

    `n` counts the agent's frames, `t` is the box's wall clock in seconds, `m` its monotonic clock, `id` the
    request that the frame answers, `dropped` the samples that the agent threw away so far. Strings in `d` are as
    they came: clean them before they are kept.
    """

    v: int
    n: int
    k: str
    t: float
    m: float
    d: dict[str, Any]
    id: int | None = None
    dropped: int = 0


_BEGINNING = b'{"v":'
MOST_BEGINNINGS = 64  # of a frame in one line: noise is short, and a line of nothing else costs no time
_decoder = msgspec.json.Decoder(Frame)


def decode(line: bytes) -> Frame | None:
    """The frame in a line, or None when the line is none, or nested deeper than anything of ours."""
    frame: Frame | None
    try:
        frame = _decoder.decode(line)
    except msgspec.DecodeError:
        frame = _decode_surrogates(line)
    except RecursionError:
        return None
    return frame if frame is not None and frame.v == 1 and not too_deep(frame.d) else None


def _decode_surrogates(line: bytes) -> Frame | None:
    """File names that are not UTF-8 travel as lone surrogates, which msgspec refuses and json reads."""
    if b"\\ud" not in line:
        return None
    try:
        return msgspec.convert(strict_json(line), Frame)
    except ValueError:  # msgspec's ValidationError is one
        return None


def encode(request_id: int, op: str, args: dict[str, Any]) -> bytes:
    """One request as a line; ValueError when it is longer than a frame may be."""
    line = json.dumps({"id": request_id, "op": op, "a": args}, separators=(",", ":")).encode("ascii") + b"\n"
    if len(line) > MAX_FRAME:
        raise ValueError(f"request {op} is {len(line)} bytes long, the limit is {MAX_FRAME}")
    return line


def find_hello(line: bytes, nonce: str) -> tuple[bytes, Frame] | None:
    """Noise and hello when the line ends in our hello; noise without a newline may be glued in front of it."""
    if nonce.encode() not in line:
        return None
    start = line.find(_BEGINNING)
    for _ in range(MOST_BEGINNINGS):
        if start < 0:
            break
        frame = decode(line[start:])
        if frame is not None and frame.k == "hello" and frame.d.get("nonce") == nonce:
            return line[:start], frame
        start = line.find(_BEGINNING, start + 1)
    return None
