"""What every fact is: frozen, typed, in the past tense.

A field that may be missing is `T | Unknown`, never `None`. Remote text is `CleanText`. Units are in the field's
name (`_bytes _s _ms _w _c _pct _mhz`), as in the JSON output.
"""

from __future__ import annotations

from typing import Any

import msgspec


class Event(msgspec.Struct, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A fact of the console itself."""


class HostEvent(Event, frozen=True, gc=False, kw_only=True, forbid_unknown_fields=True):
    """A fact of one box. `host` is the name the user gave it."""

    host: str


class Stamped(msgspec.Struct, frozen=True, gc=False):
    """A fact with its order and time: what the bus hands on and the journal holds.

    `seq` counts from 1 without gaps; `t` is seconds since the session started, monotonic. `extra` keeps fields
    that this version does not know.
    """

    seq: int
    t: float
    event: Event
    extra: dict[str, Any] | None = None
