"""Moments of a session as people write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from console.journal import Header

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")


def parse_moment(text: str, header: Header) -> float:
    """Seconds since the start: from seconds, or from a UTC clock time, the first one after the start.

    Raises ValueError with a sentence.
    """
    if clock := _CLOCK.fullmatch(text.strip()):
        started = datetime.fromisoformat(header.started)
        hours, minutes, seconds = int(clock[1]), int(clock[2]), float(clock[3] or 0)
        if hours < 24:
            day = started.replace(hour=0, minute=0, second=0, microsecond=0)
            moment = day + timedelta(hours=hours, minutes=minutes, seconds=seconds)
            return ((moment - started) % timedelta(days=1)).total_seconds()
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise ValueError(f"{text!r} is no moment: give seconds, or HH:MM:SS.")
    return value
