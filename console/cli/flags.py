"""The flags that every command takes, before or after its words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

_PATH = click.Path(dir_okay=False, path_type=Path)


def _finite(value: float | None) -> float | None:
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"{value} is no number of seconds.")
    return value


OPTIONS: tuple[click.Option, ...] = (
    click.Option(["--json", "json_output"], is_flag=True, help="Print JSON."),
    click.Option(
        ["--timeout"],
        type=click.FloatRange(min=0, min_open=True),
        metavar="S",
        help="Give up after S seconds.",
        callback=lambda ctx, param, value: _finite(value),
    ),
    click.Option(["--read-only"], is_flag=True, help="Take away everything that changes the box."),
    click.Option(["--config"], type=_PATH, metavar="FILE", help="Read this configuration instead of the user's."),
    click.Option(
        ["--ssh-config"], type=_PATH, metavar="FILE", help="Read this SSH configuration instead of the user's."
    ),
    click.Option(["--expect-fingerprint"], metavar="SHA256:…", help="Accept exactly this unknown host key."),
    click.Option(["--record"], type=_PATH, metavar="FILE", help="Record the session to a new file."),
    click.Option(["--no-record"], is_flag=True, help="Do not record the session."),
    click.Option(["--no-color"], is_flag=True, help="No colour (also NO_COLOR)."),
    click.Option(["--ascii"], is_flag=True, help="ASCII glyphs and borders."),
    click.Option(["--host", "hosts"], multiple=True, metavar="NAME", help="A host whose name is also a command."),
    click.Option(["-v", "--verbose"], is_flag=True, help="Tell every fact on standard error."),
    click.Option(["-q", "--quiet"], is_flag=True, help="Say nothing but errors on standard error."),
)


@dataclass(frozen=True)
class Flags:
    """The global flags as given; None and False mean that configuration decides."""

    json_output: bool = False
    timeout: float | None = None
    read_only: bool = False
    config: Path | None = None
    ssh_config: Path | None = None
    expect_fingerprint: str | None = None
    record: Path | None = None
    no_record: bool = False
    no_color: bool = False
    ascii: bool = False
    hosts: tuple[str, ...] = ()
    verbose: bool = False
    quiet: bool = False


_TAKES_VALUE = {name: not option.is_flag for option in OPTIONS for name in option.opts}


def split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Take the global flags, wherever they stand before `--`, out of the arguments: (global, rest)."""
    taken: list[str] = []
    rest: list[str] = []
    waiting = iter(arguments)
    for argument in waiting:
        if argument == "--":
            rest += [argument, *waiting]
        elif argument.partition("=")[0] not in _TAKES_VALUE:
            rest.append(argument)
        else:
            taken.append(argument)
            if _TAKES_VALUE[argument.partition("=")[0]] and "=" not in argument:
                taken += [value for value in [next(waiting, None)] if value is not None]
    return taken, rest


def parse(arguments: list[str]) -> Flags:
    """Read the global flags; click's own UsageError for a bad value."""
    command = click.Command("gpudeck", params=list(OPTIONS), add_help_option=False)
    values: dict[str, Any] = command.make_context("gpudeck", arguments).params
    flags = Flags(**values)
    if flags.record and flags.no_record:
        raise click.UsageError("--record and --no-record exclude each other.")
    return flags
