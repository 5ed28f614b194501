"""All commands as one click group: for completion, and for the test that holds the documents true."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from console.cli.commands import COMMANDS
from console.cli.flags import OPTIONS
from console.config import ConfigError, load_config, load_recipes
from console.config.aliases import ssh_aliases


class _Tree(click.Group):
    """Imports a command only when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"console.cli.{COMMANDS[cmd_name][0]}").command
        for parameter in command.params:
            if names := _names_for(parameter):
                parameter.shell_complete = _completing(names)  # type: ignore[method-assign, assignment]
        return command


def _hosts() -> Sequence[str]:
    """What the picker shows, without asking anybody."""
    config = load_config(cwd=Path.cwd(), env=os.environ)
    return [*config.hosts, *ssh_aliases(Path(config.settings.ssh_config) if config.settings.ssh_config else None),
            "local", "demo"]  # fmt: skip


def _recipes() -> Sequence[str]:
    return sorted(load_recipes(cwd=Path.cwd(), env=os.environ, config_file=None, extra=None).recipes)


def _names_for(parameter: click.Parameter) -> Callable[[], Sequence[str]] | None:
    """What can stand there; None where only the command itself knows."""
    if not isinstance(parameter, click.Argument):
        return None
    if parameter.name in ("host", "hosts"):
        return _hosts
    return _recipes if parameter.name == "recipe" or "RECIPE" in (parameter.metavar or "") else None


def _completing(names: Callable[[], Sequence[str]]) -> Callable[[click.Context, str], list[CompletionItem]]:
    def complete(_context: click.Context, typed: str) -> list[CompletionItem]:
        try:
            return [CompletionItem(name) for name in dict.fromkeys(names()) if name.startswith(typed)]
        except ConfigError:
            return []  # a completion says nothing; the command itself will

    return complete


def tree() -> click.Group:
    """The whole command line."""
    return _Tree("gpudeck", params=list(OPTIONS))
