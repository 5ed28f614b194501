"""`gpudeck --replay FILE`: a recorded session, headless or on screen."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta
from pathlib import Path

import click

from console.cli.flags import Flags
from console.cli.output import emit
from console.cli.stop import USAGE, StopError
from console.journal import Header, RecordingError
from console.session.replay import Replay, play
from console.views.replay import replay_lines, replay_object

_CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")


@click.command("replay")
@click.option(
    "--replay", "path", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="The recording."
)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--headless", is_flag=True, help="Print the end state instead of opening the console.")
@click.option("--speed", default=None, metavar="X|max", help="Times real time; headless default: max.")
@click.option("--until", default=None, metavar="T", help="Stop there: seconds, or HH:MM:SS (UTC).")
@click.option("--text", "as_text", is_flag=True, help="Plain lines (the headless default).")
@click.option(
    "--svg", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write each screen as SVG."
)
@click.pass_obj
def command(
    flags: Flags,
    path: Path | None,
    file: Path | None,
    headless: bool,
    speed: str | None,
    until: str | None,
    as_text: bool,
    svg: Path | None,
) -> None:
    """Replay a recording. The same file gives the same output at every speed, every time."""
    chosen = path or file
    if chosen is None:
        raise StopError(USAGE, "Which recording? Say `gpudeck --replay FILE`.")
    if flags.json_output and as_text:
        raise StopError(USAGE, "--json and --text exclude each other.")
    try:
        replay = Replay(chosen)
    except RecordingError as error:
        raise StopError(USAGE, str(error)) from error
    rate, moment = parse_speed(speed), parse_moment(until, replay.header)
    if not (headless or flags.json_output or as_text or svg) and sys.stdin.isatty() and sys.stderr.isatty():
        from console.cli.boxes import configuration, run
        from console.cli.screen import show

        return run(show(replay, configuration(flags)))
    play(replay, rate, moment)
    if svg:
        from console.screens.export import write_svgs

        write_svgs(replay, svg, flags)
    if flags.json_output:
        emit({"schema": "gpudeck.replay/1", "ts": replay.header.at(replay.state.t)} | _object(replay))
    elif as_text or not svg:
        click.echo("\n".join(replay_lines(replay.state, replay.warnings, replay.header.at(replay.state.t))))
    return None


def _object(replay: Replay) -> dict[str, object]:
    return {"demo": replay.demo} | replay_object(replay.state, replay.warnings)


def parse_speed(text: str | None) -> float | None:
    """`max` and nothing are None: as fast as it goes."""
    if text is None or text == "max":
        return None
    try:
        speed = float(text.removesuffix("x").removesuffix("×"))
    except ValueError:
        speed = 0.0
    if not 0 < speed < 1e6:
        raise StopError(USAGE, f"--speed {text!r}: give a number above 0, or max.")
    return speed


def parse_moment(text: str | None, header: Header) -> float | None:
    """Seconds since the start, from seconds or from a UTC clock time (the first one after the start)."""
    if text is None:
        return None
    if clock := _CLOCK.fullmatch(text):
        started = datetime.fromisoformat(header.started)
        hours, minutes, seconds = int(clock[1]), int(clock[2]), float(clock[3] or 0)
        if hours < 24:
            day = started.replace(hour=0, minute=0, second=0, microsecond=0)
            moment = day + timedelta(hours=hours, minutes=minutes, seconds=seconds)
            return ((moment - started) % timedelta(days=1)).total_seconds()
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise StopError(USAGE, f"--until {text!r}: give seconds, or HH:MM:SS.")
    return value
