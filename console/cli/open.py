"""`gpudeck [HOST ...]`: the console on screen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from console.cli.boxes import configuration, host_named, live, run
from console.cli.commands import COMMANDS
from console.cli.flags import Flags
from console.cli.recording import recording_file
from console.cli.stop import USAGE, StopError
from console.config import Config, HostConfig
from console.session.live import LiveSession


@click.command("open")
@click.argument("hosts", nargs=-1)
@click.pass_obj
def command(flags: Flags, hosts: tuple[str, ...]) -> None:
    """Open the console; without a host it begins with a picker."""
    names = list(dict.fromkeys((*hosts, *flags.hosts)))
    config = configuration(flags)
    boxes = [config.host(name) if name in flags.hosts else host_named(config, name, COMMANDS) for name in names]
    if flags.json_output:
        raise StopError(USAGE, "The console prints no JSON; `gpudeck status HOST --json` does.")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise StopError(USAGE, "The console needs a terminal; `gpudeck status HOST` and `--json` do not.")
    record = recording_file(flags, [box.name for box in boxes], config)
    run(open_console(flags, boxes, config, record))


async def open_console(
    flags: Flags,
    boxes: list[HostConfig],
    config: Config,
    record: Path | None,
    beside: Callable[[LiveSession], Coroutine[Any, Any, None]] | None = None,
) -> None:
    """The console over a live session with these boxes, and what goes on beside it."""
    from console.cli.screen import show
    from console.screens.asking import ScreenAsker

    asker = ScreenAsker()
    async with live(flags, boxes, config, record, asker) as session:
        session.looks_first = True
        if beside:
            session.supervisor.start("beside the console", beside(session))
        await show(session, config, asker=asker)
