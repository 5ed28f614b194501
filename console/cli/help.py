"""`gpudeck --help`: examples first."""

from __future__ import annotations

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
    formatter.write(_EXAMPLES + "\nUsage: gpudeck [HOST ...] | gpudeck COMMAND …\n\n")
    with formatter.section("Commands"):
        formatter.write_dl([(name, help_line) for name, (_, help_line) in commands.items()])
    with formatter.section("Flags of every command"):
        records = [option.get_help_record(context) for option in OPTIONS]
        formatter.write_dl([record for record in records if record])
    return formatter.getvalue().rstrip()
