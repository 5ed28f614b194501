"""`gpudeck exec HOST FILE|- [-- ARG …]`: a Python program on the box, past every shell's quoting."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from console.cli.boxes import configuration, connected, host_named, run
from console.cli.flags import Flags
from console.cli.output import emit, say, utc_now
from console.cli.stop import DONE, FAILED, GATE, TIMED_OUT, USAGE, StopError
from console.remote.errors import AgentError, RemoteError
from console.remote.programs import ProgramEnd, run_source
from console.values import clean_lines
from console.workers.jobs import user_at_laptop

SCHEMA = "gpudeck.exec/1"


@click.command("exec")
@click.argument("host")
@click.argument("file")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--python", metavar="P", help="Interpreter on the box (default: the host's, then python3).")
@click.option("--dry-run", is_flag=True, help="Say what would run, and run nothing.")
@click.pass_obj
def command(flags: Flags, host: str, file: str, arguments: tuple[str, ...], python: str | None, dry_run: bool) -> int:
    """Run a Python program file on the box; `-` reads it from standard input.

    Arguments after `--` reach the program byte for byte. Exit 0 when the program's is 0, else 1.
    """
    box = host_named(configuration(flags), host)
    if (flags.read_only or box.read_only) and not dry_run:
        raise StopError(GATE, f"{host} is opened read-only: exec may change it.")
    source = _read(file)
    name = "<stdin>" if file == "-" else Path(file).name
    interpreter = python or box.python or "python3"
    if dry_run:
        return _would(flags, host, interpreter, [name, *arguments], len(source))
    return run(_exec(flags, host, interpreter, source, [name, *arguments]))


def _would(flags: Flags, host: str, python: str, argv: list[str], size: int) -> int:
    """A dry run: what would run where."""
    if flags.json_output:
        plan = {"host": host, "python": python, "argv": argv, "source_bytes": size}
        emit({"schema": SCHEMA, "ts": utc_now(), "dry_run": True, **plan})
    else:
        click.echo(f"Would run {shlex.join(argv)} ({size} bytes of source) with {python} on {host}.")
    return DONE


def _read(file: str) -> bytes:
    if file == "-":
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise StopError(USAGE, f"{file} cannot be read: {error.strerror}.") from error


async def _exec(flags: Flags, host: str, python: str, source: bytes, argv: list[str]) -> int:
    printed = {1: bytearray(), 2: bytearray()}
    async with connected(flags, host) as session:
        box = session.box(host)
        assert box is not None
        show = (lambda fd, data: printed[fd].extend(data)) if flags.json_output else _show
        try:
            by = user_at_laptop()
            end = await run_source(box.agent, source, argv, show, python=python, timeout_s=flags.timeout, by=by)
        except AgentError as error:
            reason = error.message.removeprefix(f"{python}: ")
            raise StopError(FAILED, f"{python} on {host} cannot be run: {reason}.") from error
        except RemoteError as error:
            raise StopError(error.exit_code, f"{error} Whether the program ran to its end is not known.") from error
    if flags.json_output:
        emit(_report(host, end, printed))
    if end.timed_out:
        say(flags, f"gpudeck: The program did not end within {flags.timeout:g} s and was stopped.")
        return TIMED_OUT
    if end.exit_code != 0:
        say(flags, f"gpudeck: {argv[0]} ended with {_end(end)}.")
        return FAILED
    return DONE


def _end(end: ProgramEnd) -> str:
    return f"signal {end.signal}" if end.signal is not None else f"exit code {end.exit_code}"


def _report(host: str, end: ProgramEnd, printed: dict[int, bytearray]) -> dict[str, Any]:
    """Bytes that are not UTF-8 are shown as `\\xNN`."""
    texts = {fd: bytes(data).decode("utf-8", "backslashreplace") for fd, data in printed.items()}
    return {
        "schema": SCHEMA, "ts": utc_now(), "host": host, "exit_code": end.exit_code, "signal": end.signal,
        "timed_out": end.timed_out, "stdout": texts[1], "stderr": texts[2],
    }  # fmt: skip


def _show(fd: int, data: bytes) -> None:
    """Byte for byte into a pipe or file; what goes to a terminal must not control it."""
    stream = sys.stdout if fd == 1 else sys.stderr
    if stream.isatty():
        data = "\n".join(clean_lines(data.decode("utf-8", "backslashreplace"), len(data) + 1)).encode()
    stream.buffer.write(data)
    stream.buffer.flush()
