"""`gpudeck shell HOST`: hands this terminal to `ssh HOST`."""

from __future__ import annotations

import contextlib
import os

import click

from console.cli.boxes import configuration, host_named
from console.cli.flags import Flags
from console.cli.stop import FAILED, USAGE, StopError
from console.remote.errors import SshConfigError
from console.session.picker import DEMO
from console.session.ways import Ways


@click.command("shell")
@click.argument("host")
@click.pass_obj
def command(flags: Flags, host: str) -> None:
    """Hand the terminal to `ssh HOST`. What you do there is not recorded."""
    config = configuration(flags)
    box = host_named(config, host)
    if box.name == DEMO:
        raise StopError(USAGE, "The demo box lives only inside `gpudeck demo`; press ! there.")
    try:
        words = list(Ways(config, None, None, contextlib.AsyncExitStack()).shell_command(box))
        os.execvp(words[0], words)
    except SshConfigError as error:
        raise StopError(error.exit_code, str(error)) from error
    except OSError as error:
        raise StopError(FAILED, f"ssh cannot be run: {error.strerror}.") from error
