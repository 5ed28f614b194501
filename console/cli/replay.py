"""`gpudeck --replay FILE`: a recorded session, headless or on screen."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from console.cli.flags import Flags
from console.cli.output import emit
from console.cli.stop import USAGE, StopError
from console.journal import Header, RecordingError
from console.session.moments import parse_moment
from console.session.replay import Replay, play
from console.views.replay import replay_lines, replay_object


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
    if path and file:
        raise StopError(USAGE, f"One recording at a time: {path} or {file}?")
    if chosen is None:
        raise StopError(USAGE, "Which recording? Say `gpudeck --replay FILE`.")
    if flags.json_output and as_text:
        raise StopError(USAGE, "--json and --text exclude each other.")
    try:
        replay = Replay(chosen)
    except RecordingError as error:
        raise StopError(USAGE, str(error)) from error
    rate, moment = parse_speed(speed), _moment(until, replay.header)
    if not (headless or flags.json_output or as_text or svg) and sys.stdin.isatty() and sys.stderr.isatty():
        from console.cli.boxes import configuration, run
        from console.cli.screen import show
        from console.session.player import Player

        if moment is not None:
            replay.advance(moment)
        return run(show(replay, configuration(flags), Player(replay, rate or 1.0)))
    play(replay, rate, moment)
    if svg:
        from console.cli.boxes import configuration
        from console.cli.screen import make_picture_app
        from console.screens.export import write_svgs

        write_svgs(make_picture_app(replay, configuration(flags)), svg)
    if flags.json_output:
        emit({"schema": "gpudeck.replay/1", "ts": replay.header.at(replay.state.t)} | _object(replay))
    elif as_text or not svg:
        lines = replay_lines(replay.state, replay.warnings, replay.header.at(replay.state.t))
        click.echo("\n".join([*["DEMO"] * replay.demo, *lines]))
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


def _moment(text: str | None, header: Header) -> float | None:
    try:
        return parse_moment(text, header) if text is not None else None
    except ValueError as error:
        raise StopError(USAGE, f"--until: {error}") from error
