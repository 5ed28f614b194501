"""The first line of a recording."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

SCHEMA = 1
LONGEST_S = 1e9  # thirty years: a line that says a later moment is broken


class RecordingError(Exception):
    """A recording that cannot be read; its text is one sentence for the user."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote the recording, in which schema, when (UTC, ISO 8601), and which boxes are in it."""

    gpudeck: str
    schema: int
    started: str
    hosts: tuple[str, ...]

    def at(self, t: float) -> str:
        """The UTC time, to the millisecond, of a moment `t` seconds after the start."""
        return _utc_text(datetime.fromisoformat(self.started) + timedelta(seconds=t))


def new_header(version: str, hosts: tuple[str, ...], started: datetime) -> Header:
    """The header of a recording that starts now."""
    return Header(gpudeck=version, schema=SCHEMA, started=_utc_text(started.astimezone(UTC)), hosts=hosts)


def _utc_text(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def decode_header(line: bytes, name: str) -> Header:
    """Read line 1; a start without a zone is UTC. Raises RecordingError with a sentence that names the file."""
    try:
        header = msgspec.json.decode(line, type=Header)
        started = datetime.fromisoformat(header.started)
        utc = (started if started.tzinfo else started.replace(tzinfo=UTC)).astimezone(UTC)
        utc + timedelta(seconds=LONGEST_S)  # so that no moment of the session is beyond the calendar
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError, OverflowError) as error:
        raise RecordingError(f"{name} is no gpudeck recording: its first line is no header ({error}).") from error
    if header.schema < 1:
        raise RecordingError(f"{name} is no gpudeck recording: schema {header.schema} never existed.")
    return msgspec.structs.replace(header, started=_utc_text(utc))
