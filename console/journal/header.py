"""The first line of a recording."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

SCHEMA = 1


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
        moment = datetime.fromisoformat(self.started) + timedelta(seconds=t)
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def new_header(version: str, hosts: tuple[str, ...], started: datetime) -> Header:
    """The header of a recording that starts now."""
    text = started.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Header(gpudeck=version, schema=SCHEMA, started=text, hosts=hosts)


def decode_header(line: bytes, name: str) -> Header:
    """Read line 1. Raises RecordingError with a sentence that names the file."""
    try:
        header = msgspec.json.decode(line, type=Header)
        datetime.fromisoformat(header.started)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise RecordingError(f"{name} is no gpudeck recording: its first line is no header ({error}).") from error
    if header.schema < 1:
        raise RecordingError(f"{name} is no gpudeck recording: schema {header.schema} never existed.")
    return header
