"""Standard output is data, standard error is narration."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Any

import click

from console.cli.flags import Flags
from console.values import dump_json
from console.values.secrets import redact


class Printed:
    """What this command line has put on standard output. `whole`: its one JSON object, behind which no other stands."""

    whole = False


def emit(value: dict[str, Any], *, stream: bool = False) -> None:
    """Print one JSON object: compact, pretty at a terminal, always one line in a stream."""
    Printed.whole = not stream
    click.echo(redact(dump_json(value, pretty=sys.stdout.isatty() and not stream)))


def say(flags: Flags, sentence: str) -> None:
    """Narrate, unless the user asked for quiet. Narration that finds no room ends nothing; a broken pipe does."""
    if not flags.quiet:
        try:
            click.echo(redact(sentence), err=True)
        except BrokenPipeError:
            raise
        except OSError:
            return


def utc_now() -> str:
    """The time for a `ts` field."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
