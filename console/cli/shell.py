"""`gpudeck shell HOST`: hands this terminal to `ssh HOST`."""

from __future__ import annotations

import contextlib
import os
import shlex

import click

from console.cli.boxes import configuration, host_named
from console.cli.flags import Flags
from console.cli.output import emit, utc_now
from console.cli.stop import FAILED, GATE, USAGE, StopError
from console.remote.errors import SshConfigError
from console.session.picker import DEMO
from console.session.ways import Ways


@click.command("shell")
@click.argument("host")
@click.option("--dry-run", is_flag=True, help="Print the command, and run nothing.")
@click.pass_obj
def command(flags: Flags, host: str, dry_run: bool) -> None:
    """Hand the terminal to `ssh HOST`. What you do there is not recorded."""
    config = configuration(flags)
    box = host_named(config, host)
    if box.name == DEMO:
        raise StopError(USAGE, "The demo box lives only inside `gpudeck demo`; open it there.")
    if (config.settings.read_only or box.read_only) and not dry_run:
        raise StopError(GATE, f"{host} is opened read-only: a shell may change it.")
    try:
        words = list(Ways(config, None, None, contextlib.AsyncExitStack()).shell_command(box))
        if dry_run and flags.json_output:
            return emit({"schema": "gpudeck.shell/1", "ts": utc_now(), "dry_run": True, "host": host, "argv": words})
        if dry_run:
            return click.echo(shlex.join(words))
        os.execvp(words[0], words)
    except SshConfigError as error:
        raise StopError(error.exit_code, str(error)) from error
    except OSError as error:
        raise StopError(FAILED, f"ssh cannot be run: {error.strerror}.") from error
