"""One fact, one line: `[seq, t, "Kind", {fields}]`.

Recordings hold cleaned text, but one from a stranger may hold anything: a long line, or one with a suspicious
byte, takes the slow path, where every string is cleaned again.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from console.events import KINDS, Stamped
from console.events.link import UnknownEvent
from console.journal.header import LONGEST_S
from console.values import CleanText, clean_tree

# A control character is escaped in JSON; C1, bidi and invisible ones may also stand there as UTF-8.
_SUSPECT = re.compile(
    rb"\\(?:[bfnrt]|u)|[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xd8\x9c|\xcc[\x80-\xbf]|\xcd[\x80-\xaf]"
    rb"|\xe1(?:\xaa[\xb0-\xbf]|\xab|\xb7)|\xe2(?:\x80[\x8b\x8e\x8f\xa8-\xae]|\x81[\xa0-\xa9]|\x83[\x90-\xbf])"
    rb"|\xef(?:\xbb\xbf|\xb8[\xa0-\xaf])"
)

LONG = 64 * 1024  # a longer line may hold a string that is longer than ours: it is cut

Line = tuple[int, float, str, msgspec.Raw]

_encoder = msgspec.json.Encoder()
_line = msgspec.json.Decoder(Line)
_typed = {name: msgspec.json.Decoder(kind) for name, kind in KINDS.items()}


class BrokenLineError(Exception):
    """A line that is no fact."""


def encode(stamped: Stamped) -> bytes:
    """The line of a fact, with its newline."""
    event = stamped.event
    return _encoder.encode((stamped.seq, stamped.t, type(event).__name__, event)) + b"\n"


def decode_line(line: bytes) -> Line:
    """Sequence number, time in seconds, kind, and the fields still as JSON. Raises BrokenLineError."""
    try:
        seq, t, kind, raw = _line.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenLineError(str(error)) from error
    if not 0 <= t < LONGEST_S:
        raise BrokenLineError(f"t is {t}")
    return seq, t, kind, raw


def decode_fact(line: Line) -> Stamped:
    """The fact of a line in the present schema. Unknown kinds and fields are kept. Raises BrokenLineError."""
    seq, t, kind, raw = line
    decoder = _typed.get(kind)
    try:
        if decoder is not None and not _is_suspect(bytes(raw)):
            return Stamped(seq, t, decoder.decode(raw))
    except msgspec.ValidationError:
        pass  # an unknown field, or a wrong type: the slow path tells them apart
    except (msgspec.DecodeError, RecursionError) as error:
        raise BrokenLineError(str(error)) from error
    return build_fact(seq, t, kind, decode_fields(raw))


def _is_suspect(raw: bytes) -> bool:
    """Most lines are plain ASCII without an escape: three fast searches instead of one slow one."""
    plain = raw.isascii() and b"\\" not in raw and b"\x7f" not in raw
    return len(raw) > LONG or (not plain and _SUSPECT.search(raw) is not None)


def decode_fields(raw: msgspec.Raw | bytes) -> dict[str, Any]:
    """The fields as plain data, every string cleaned. Raises BrokenLineError."""
    try:
        return msgspec.convert(clean_tree(msgspec.json.decode(raw)), dict[str, Any])
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as error:
        raise BrokenLineError(str(error)) from error


def build_fact(seq: int, t: float, kind: str, fields: dict[str, Any]) -> Stamped:
    """A fact from plain, cleaned data. Raises BrokenLineError when a field has another type than its kind says."""
    known_kind = KINDS.get(kind)
    if known_kind is None:
        name = clean_tree(kind)
        return Stamped(seq, t, UnknownEvent(kind=CleanText(name), fields=fields))
    names = known_kind.__struct_fields__
    extra = {key: value for key, value in fields.items() if key not in names}
    try:
        event = msgspec.convert({key: fields[key] for key in fields if key in names}, known_kind)
    except msgspec.ValidationError as error:
        raise BrokenLineError(f"{kind}: {error}") from error
    return Stamped(seq, t, event, extra or None)
