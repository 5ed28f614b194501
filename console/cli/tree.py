"""All commands as one click group: for completion, and for the test that holds the documents true."""

from __future__ import annotations

from importlib import import_module

import click

from console.cli.commands import COMMANDS
from console.cli.flags import OPTIONS


class _Tree(click.Group):
    """Imports a command only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"console.cli.{COMMANDS[cmd_name][0]}").command
        return command


def tree() -> click.Group:
    """The whole command line."""
    return _Tree("gpudeck", params=list(OPTIONS))
