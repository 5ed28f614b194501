"""`gpudeck --help`: examples first."""

from __future__ import annotations

from difflib import get_close_matches

import click

from console.cli.flags import OPTIONS

_EXAMPLES = """\
Examples:
  gpudeck                            choose a box from your SSH configuration
  gpudeck ct200                      open the console on the box `ct200`
  gpudeck demo                       a demo box on this machine, no GPU and no SSH needed
  gpudeck status ct200 --json        everything true of it, as data
  gpudeck --replay night.jsonl       look at a recorded night again
"""


def overview(commands: dict[str, tuple[str, str]]) -> str:
    """The help of the whole program."""
    context = click.Context(click.Command("gpudeck"))
    formatter = click.HelpFormatter(width=100)
    formatter.write("gpudeck: a terminal operations console for GPU boxes that serve large language models.\n\n")
    formatter.write(_EXAMPLES + "\nUsage: gpudeck [HOST ...] | gpudeck COMMAND …\n")
    formatter.write("HOST: an SSH alias, user@host[:port], local (this machine), or demo.\n")
    with formatter.section("Commands"):
        formatter.write_dl([(name, help_line) for name, (_, help_line) in commands.items()])
    with formatter.section("Flags of every command"):
        records = [option.get_help_record(context) for option in OPTIONS]
        formatter.write_dl([record for record in records if record])
    return formatter.getvalue().rstrip()


def naming_flags(command: click.Command) -> None:
    """Let the help of a command and of its subcommands end with the flags that every command takes."""
    spelled = ", ".join(option.opts[0] for option in OPTIONS)
    for one in (command, *(command.commands.values() if isinstance(command, click.Group) else ())):
        one.epilog = "\n\n".join(filter(None, (one.epilog, f"Flags of every command: {spelled} (gpudeck --help).")))


def usage_sentence(error: click.ClickException) -> str:
    """What was wrong with a command line, in one line, with the nearest option and where the right one is shown."""
    said = " ".join(error.format_message().split())
    if not isinstance(error, click.UsageError) or error.ctx is None:
        return said
    if isinstance(error, click.NoSuchOption):
        said = f"There is no option {error.option_name}{_nearest(error.option_name, error.ctx.command)}."
    said = said.replace("integer range", "whole number").replace("float range", "number")
    said += "" if said.endswith((".", "?")) else "."
    return f"{said} `{error.ctx.command_path} --help` shows how."


def _nearest(name: str, command: click.Command) -> str:
    names = [spelling for option in (*command.params, *OPTIONS) for spelling in option.opts]
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    return f" (nearest: {near[0]})" if near else ""
