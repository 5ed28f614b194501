"""`gpudeck demo`: a demo box on this machine, on screen or headless to its end."""

from __future__ import annotations

import sys

import click

from console.cli.boxes import configuration, live, reach, run
from console.cli.flags import Flags
from console.cli.open import open_console
from console.cli.output import emit
from console.cli.status import settled
from console.demo.shelf import READER_TOKEN, TOKEN
from console.session.live import LiveSession
from console.session.picker import DEMO
from console.views.text import status_lines

SCHEMA = "gpudeck.demo/1"


TOKENS = (
    f"Its Hub knows two tokens: {TOKEN} of demo-user, who has not asked for the gated drafter, and "
    f"{READER_TOKEN} of demo-reader, who may read it."
)


@click.command("demo", epilog=TOKENS)
@click.option("--headless", is_flag=True, help="Run to the end and print what happened.")
@click.option("--scenario", type=click.Choice(["tour"]), default="tour", help="What to play.")
@click.pass_obj
def command(flags: Flags, headless: bool, scenario: str) -> int:
    """A demo box: a real SSH server on loopback with eight played GPUs."""
    config = configuration(flags)
    if headless or flags.json_output or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return run(_headless(flags, scenario))
    run(open_console(flags, [config.host(DEMO)], config))
    return 0


async def _headless(flags: Flags, scenario: str) -> int:
    config = configuration(flags)
    async with live(flags, [config.host(DEMO)], config, flags.record) as session:
        session.start()
        await reach(session, DEMO, config.settings.timeout)
        ok = await settled(session, DEMO)
        if not flags.json_output:
            _tell(session)
    emit({"schema": SCHEMA, "scenario": scenario, "ok": ok, "prevented": []}, stream=True)
    return 0 if ok else 1


def _tell(session: LiveSession) -> None:
    click.echo("DEMO  a box of this machine, reached over SSH on loopback; its GPUs are played.\n")
    click.echo("\n".join(status_lines(session.state.hosts[DEMO], session.state.t)))
