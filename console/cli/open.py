"""`gpudeck [HOST ...]`: the console on screen."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from console.cli.boxes import configuration, host_named, live, run
from console.cli.flags import Flags
from console.cli.stop import USAGE, StopError
from console.config import Config, HostConfig
from console.config.paths import make_private_dir, recordings_dir
from console.journal import make_room


@click.command("open")
@click.argument("hosts", nargs=-1)
@click.pass_obj
def command(flags: Flags, hosts: tuple[str, ...]) -> None:
    """Open the console; without a host it begins with a picker."""
    names = list(dict.fromkeys((*hosts, *flags.hosts)))
    config = configuration(flags)
    boxes = [host_named(config, name) if name not in flags.hosts else config.host(name) for name in names]
    if flags.json_output:
        raise StopError(USAGE, "The console prints no JSON; `gpudeck status HOST --json` does.")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise StopError(USAGE, "The console needs a terminal; `gpudeck status HOST` and `--json` do not.")
    run(open_console(flags, boxes, config))


async def open_console(flags: Flags, boxes: list[HostConfig], config: Config) -> None:
    """The console over a live session with these boxes."""
    from console.cli.screen import show
    from console.screens.asking import ScreenAsker

    asker = ScreenAsker()
    async with live(flags, boxes, config, recording_file(flags, boxes, config), asker) as session:
        session.looks_first = True
        await show(session, config, asker=asker)


def recording_file(flags: Flags, boxes: list[HostConfig], config: Config) -> Path | None:
    """Where the session is recorded: as asked, by default in the data directory, or nowhere."""
    if flags.record is not None or not config.settings.record:
        return flags.record
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%f")[:-3]
    name = "+".join(box.name for box in boxes).replace("/", "_")[:80] or "console"
    directory = make_private_dir(recordings_dir())
    make_room(directory)
    return directory / f"{stamp}-{name}.jsonl"
