"""`gpudeck completion SHELL`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from console.cli.commands import COMPLETE
from console.cli.stop import USAGE, StopError


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script of a shell, for its start-up file."""
    kind = get_completion_class(shell)
    if kind is None:
        raise StopError(USAGE, f"No completion for {shell}.")
    from console.cli.tree import tree

    click.echo(kind(tree(), {}, "gpudeck", COMPLETE).source())
