"""`gpudeck demo`: a demo box on this machine, on screen or headless, with the mistakes of that night on request."""

from __future__ import annotations

import sys
from functools import partial

import click

from console.cli.boxes import configuration, live, reach, run
from console.cli.flags import Flags
from console.cli.open import open_console
from console.cli.output import emit
from console.cli.recording import recording_file
from console.cli.status import settled
from console.cli.stop import USAGE, StopError
from console.config.errors import nearest
from console.demo.shelf import READER_TOKEN, TOKEN
from console.demo.story.laptop import own_laptop
from console.demo.story.scenes import SCENES, STORY, Played, play
from console.demo.story.stage import Stage
from console.demo.story.world import World
from console.events import Stamped
from console.events.link import NoteWritten
from console.session.live import LiveSession
from console.session.picker import DEMO
from console.views.text import status_lines

SCHEMA = "gpudeck.demo/1"
READING_S = 5.0  # how long a caption stays on screen before the story goes on


TOKENS = (
    f"Its Hub knows two tokens: {TOKEN} of demo-user, who has not asked for the gated drafter, and "
    f"{READER_TOKEN} of demo-reader, who may read it."
)


@click.command("demo", epilog=TOKENS)
@click.option("--headless", is_flag=True, help="Run to the end and print what happened.")
@click.option(
    "--scenario",
    shell_complete=lambda _context, _parameter, begun: [name for name in (*SCENES, STORY) if name.startswith(begun)],
    metavar="NAME",
    help=f"Play a mistake and what prevents it: {', '.join(SCENES)}; {STORY} plays all.",
)
@click.pass_obj
def command(flags: Flags, headless: bool, scenario: str | None) -> int:
    """A demo box: a real SSH server on loopback with eight played GPUs. Headless it plays the whole story."""
    if scenario is not None and scenario not in (*SCENES, STORY):
        near = nearest(scenario, [*SCENES, STORY])
        hint = f"; did you mean {near!r}?" if near else f"; there are {', '.join(SCENES)} and {STORY}"
        raise StopError(USAGE, f"{scenario!r} is no scenario{hint}")
    config = configuration(flags)
    if headless or flags.json_output or not (sys.stdin.isatty() and sys.stderr.isatty()):
        with own_laptop():
            return run(_headless(flags, scenario or STORY))
    if scenario is None:
        run(open_console(flags, [config.host(DEMO)], config, recording_file(flags, [DEMO], config)))
        return 0
    record = recording_file(flags, [DEMO], config)
    with own_laptop():
        run(open_console(flags, [config.host(DEMO)], config, record, partial(_on_screen, name=scenario)))
    return 0


async def _headless(flags: Flags, scenario: str) -> int:
    config = configuration(flags)
    async with live(flags, [config.host(DEMO)], config, flags.record) as session:
        session.looks_first = True
        session.start()
        await reach(session, DEMO, config.settings.timeout)
        settles = await settled(session, DEMO)
        if not flags.json_output:
            _tell(session)
            session.bus.listen(_caption)
        played = await _play(session, scenario, 0.0)
    ok = settles and played.ok
    emit({"schema": SCHEMA, "scenario": scenario, "ok": ok, "prevented": played.prevented}, stream=True)
    return 0 if ok else 1


async def _on_screen(session: LiveSession, name: str) -> None:
    """The story beside the console, once its box is there."""
    await session.wait(lambda state: state.hosts[DEMO].link.state == "up")
    await settled(session, DEMO)
    await _play(session, name, READING_S)


async def _play(session: LiveSession, name: str, pace_s: float) -> Played:
    stage = Stage(session, World(await session.demo_box()), DEMO, pace_s)
    unheard = session.bus.listen(stage.take)
    try:
        return await play(stage, name)
    finally:
        unheard()


def _tell(session: LiveSession) -> None:
    click.echo("DEMO  a box of this machine, reached over SSH on loopback; its GPUs are played.\n")
    click.echo("\n".join(status_lines(session.state.hosts[DEMO], session.state.t)))


def _caption(stamped: Stamped) -> None:
    if isinstance(stamped.event, NoteWritten):
        click.echo(f"\n{stamped.event.text}" if stamped.event.text[:1].isdigit() else f"  {stamped.event.text}")
