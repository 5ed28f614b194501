"""`gpudeck config path|show [--origin]|init|schema`."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from console.cli.boxes import configuration
from console.cli.flags import Flags
from console.cli.output import emit, utc_now
from console.cli.stop import FAILED, USAGE, StopError
from console.config import paths
from console.config.schema import json_schema
from console.config.write import STARTER, flat, origin_lines, toml_value
from console.values import dump_json


@click.command("config")
@click.argument("action", type=click.Choice(["path", "show", "init", "schema"]))
@click.option("--origin", is_flag=True, help="Say where each value comes from (show).")
@click.pass_obj
def command(flags: Flags, action: str, origin: bool) -> None:
    """Where configuration lies, what counts, a first file, its JSON schema."""
    if action == "path":
        _path(flags)
    elif action == "show":
        _show(flags, origin)
    elif action == "init":
        _init(flags)
    else:
        click.echo(dump_json(json_schema(), pretty=not flags.json_output))


def _path(flags: Flags) -> None:
    file = flags.config or paths.config_file()
    if flags.json_output:
        emit({"schema": "gpudeck.config-path/1", "ts": utc_now(), "path": str(file), "exists": file.exists()})
    else:
        click.echo(str(file))


def _show(flags: Flags, with_origin: bool) -> None:
    config = configuration(flags)
    values = flat(config.settings, ("settings",))
    values |= {("keys", action): key for action, key in config.keys.items()}
    for name, host in config.hosts.items():
        values |= {path: value for path, value in flat(host, ("hosts", name)).items() if path[-1] != "name"}
    if flags.json_output:
        hosts = {name: msgspec.structs.asdict(host) for name, host in config.hosts.items()}
        origins = {key: str(origin) for key, origin in config.origins.items()} if with_origin else {}
        head = {"schema": "gpudeck.config/1", "ts": utc_now()}
        emit(
            head
            | {"settings": config.settings, "keys": config.keys, "hosts": hosts}
            | ({"origins": origins} if with_origin else {})
        )
    elif with_origin:
        click.echo("\n".join(origin_lines(values, config.origins)))
    else:
        click.echo("\n".join(f"{'.'.join(path)} = {toml_value(value)}" for path, value in values.items()))


def _init(flags: Flags) -> None:
    file: Path = flags.config or paths.config_file()
    if file.exists():
        raise StopError(USAGE, f"{file} exists already; it is left as it is.")
    try:
        paths.write_private(file, STARTER.encode())
    except OSError as error:
        raise StopError(FAILED, f"{file} cannot be written: {error.strerror}.") from error
    if flags.json_output:
        emit({"schema": "gpudeck.config-path/1", "ts": utc_now(), "path": str(file), "exists": True})
    else:
        click.echo(str(file))
