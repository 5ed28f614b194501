"""The entry: finds the command, and turns every end into an exit code and one sentence."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from console import __version__
from console.cli import streams, unheard
from console.cli.commands import COMMANDS, COMPLETE

if TYPE_CHECKING:
    import click

    from console.cli.flags import Flags

MAX_CHARS = 65536  # of a sentence: one with all blockers of a sweep is long


def main() -> NoReturn:
    """Run the command line of this process."""
    streams.hold()
    unheard.listen()
    sys.exit(streams.emptied(run(sys.argv[1:])))


def run(arguments: Sequence[str]) -> int:
    """Run a command line and give its exit code."""
    if list(arguments) in (["--version"], ["-V"]):
        print(f"gpudeck {__version__}")  # noqa: T201 - before anything is imported: this must be fast
        return 0
    import click

    from console.cli import flags as global_flags
    from console.cli import stop
    from console.cli.output import Printed
    from console.remote.errors import RemoteError

    if COMPLETE in os.environ:
        from console.cli.tree import tree

        tree().main(prog_name="gpudeck", complete_var=COMPLETE)
    Printed.whole = False
    taken, rest = global_flags.split(arguments)
    flags = global_flags.Flags(json_output="--json" in taken)
    try:
        os.getcwd()
    except FileNotFoundError:
        return _fail(flags, stop.USAGE, "The current directory does not exist any more; change to one that does.")
    try:
        flags = global_flags.parse(taken)
        return _call(flags, rest)
    except stop.StopError as error:
        return _fail(flags, error.exit_code, error.sentence)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.exceptions.NoArgsIsHelpError as error:
        if flags.json_output:
            return _fail(flags, stop.USAGE, f"{error.ctx.command_path}: a word is missing.")
        click.echo(error.format_message(), err=True)
        return stop.USAGE
    except click.ClickException as error:
        from console.cli.help import usage_sentence

        return _fail(flags, stop.USAGE, usage_sentence(error))
    except RemoteError as error:
        return _fail(flags, error.exit_code, str(error))
    except KeyboardInterrupt:
        return _fail(flags, stop.INTERRUPTED, "Interrupted.")
    except BrokenPipeError:
        return stop.DONE
    except OSError as error:  # a full disk, a folder that cannot be written: the machine's answer, no fault of ours
        where = f"{error.filename}: " if error.filename else ""
        return _fail(flags, stop.FAILED, f"{where}{error.strerror or error}.")
    except Exception as error:  # a fault of ours; Python's own report knows nothing of secrets
        from console.values.secrets import trace

        click.echo(trace(error), err=True)
        return _fail(flags, stop.FAILED, f"A fault of gpudeck itself: {type(error).__name__}.")


def _call(flags: Flags, rest: list[str]) -> int:
    import click

    from console.values import dump_json

    name, arguments = _route(rest, flags.hosts)
    if name == "help":
        from console.cli.help import overview

        click.echo(overview(COMMANDS))
        return 0
    if name == "version":
        version = {"schema": "gpudeck.version/1", "version": __version__}
        click.echo(dump_json(version) if flags.json_output else f"gpudeck {__version__}")
        return 0
    module, _ = COMMANDS[name]
    command: click.Command = import_module(f"console.cli.{module}").command
    if {"--help", "-h"} & set(arguments[: arguments.index("--")] if "--" in arguments else arguments):
        from console.cli.examples import examples
        from console.cli.help import naming_flags

        click.echo(examples(name, arguments))
        naming_flags(command)
    # Not `main`, which would turn a broken pipe into a failure.
    with command.make_context(f"gpudeck {name}", arguments, obj=flags, help_option_names=["--help", "-h"]) as context:
        result = command.invoke(context)
    return result if isinstance(result, int) else 0


def _route(rest: list[str], hosts: tuple[str, ...]) -> tuple[str, list[str]]:
    """Which command the words mean: a first word that is a command is the command. `--host` names a box for it."""
    options = rest[: rest.index("--")] if "--" in rest else rest
    first = next((position for position, word in enumerate(options) if not word.startswith("-")), len(options))
    if any(word == "--replay" or word.startswith("--replay=") for word in options[:first]):
        return "replay", rest
    if options[first:] and options[first] in COMMANDS:
        return options[first], [*rest[:first], *hosts, *rest[first + 1 :]]
    if options[first:] and options[first] == "help":
        return _route([*rest[first + 1 :], "--help"], ())
    if any(word in ("--version", "-V") for word in options):
        return "version", []
    if any(word in ("--help", "-h") for word in options):
        return "help", []
    return ("replay" if any(word.split("=")[0] == "--replay" for word in options) else "open"), rest


def _fail(flags: Flags, exit_code: int, sentence: str) -> int:
    """One line on the stream where it belongs, on the other one where that takes nothing. Behind a whole answer in
    JSON, which tells of the failure itself, it is narration."""
    import click

    from console.cli.output import Printed
    from console.values import clean, dump_json
    from console.values.secrets import redact

    sentence = clean(redact(sentence).replace("\r", "␍"), MAX_CHARS)
    text, as_json = f"gpudeck: {sentence}", flags.json_output and not Printed.whole
    if as_json:
        text = dump_json({"schema": "gpudeck.error/1", "exit": exit_code, "sentence": sentence})
    for err in (not as_json, as_json):
        with contextlib.suppress(OSError):
            click.echo(text, err=err)
            break
    return exit_code
