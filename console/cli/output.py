"""Standard output is data, standard error is narration."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import click

from console.cli.flags import Flags
from console.values import dump_json
from console.values.secrets import redact


def emit(value: dict[str, Any], *, stream: bool = False) -> None:
    """Print one JSON object: compact, pretty at a terminal, always one line in a stream."""
    click.echo(redact(dump_json(value, pretty=sys.stdout.isatty() and not stream)))


def say(flags: Flags, sentence: str) -> None:
    """Narrate, unless the user asked for quiet."""
    if not flags.quiet:
        click.echo(redact(sentence), err=True)


def utc_now() -> str:
    """The time for a `ts` field."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
