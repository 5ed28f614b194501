"""`gpudeck status HOST`: everything true of a box, once or as a stream."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import click

from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.output import emit
from console.cli.stop import CONNECTION, StopError
from console.remote.errors import RemoteError
from console.session.live import LiveSession
from console.state import State
from console.state.host import Gpu
from console.values import known
from console.views.serve import looked_at
from console.views.status import SCHEMA, status
from console.views.text import status_lines
from console.workers.hub_watch import first_look

# A probe that hangs must not hang the command: what is not there by then is null with its reason.
FIRST_SAMPLES_S = 5.0


@click.command("status")
@click.argument("host")
@click.option("--watch", is_flag=True, help="Print again every second until ctrl+c.")
@click.pass_obj
def command(flags: Flags, host: str, watch: bool) -> None:
    """Everything true of a box. Exit 0 also when a GPU is lost: that is an answer."""
    run(_status(flags, host, watch))


async def _status(flags: Flags, host: str, watch: bool) -> None:
    async with connected(flags, host) as session:
        await asyncio.gather(settled(session, host), _look(session, host))
        _print(session, host, flags, stream=watch)
        while watch:
            seen = session.state.seq
            await asyncio.sleep(1.0)
            link = session.state.hosts[host].link
            if session.state.seq == seen and link.state == "blocked":
                raise StopError(link.exit_code or CONNECTION, link.sentence)
            _print(session, host, flags, stream=True)


async def _look(session: LiveSession, host: str) -> None:
    """Token and stored models, asked once; what the box does not answer in time stays not known."""
    box = session.box(host)
    if box is not None:
        with contextlib.suppress(RemoteError, TimeoutError):
            async with asyncio.timeout(FIRST_SAMPLES_S):
                await first_look(box)


async def settled(session: LiveSession, host: str) -> bool:
    """Wait for the first samples; False when some did not come."""
    return await session.wait(lambda state: _complete(state, host), FIRST_SAMPLES_S)


def _complete(state: State, host: str) -> bool:
    """GPUs and how they are joined, disks, the machine, the servers and a ping have answered once."""
    hardware, link = state.hosts[host].hardware, state.hosts[host].link
    gpus = hardware.gpus
    listed = known(hardware.gpus_t) and (not known(gpus) or all(gpu.gauges for gpu in gpus.values()))
    owners = not known(gpus) or all(known(gpu.processes) or _silent(gpu) for gpu in gpus.values())
    joined = not known(gpus) or not gpus or hardware.topology is not None
    if not (looked_at(state.hosts[host]) and known(state.hosts[host].jobs.seen_t)):
        return False
    return bool(listed and owners and joined and known(hardware.disks_t) and hardware.machine and known(link.rtt_s))


def _silent(gpu: Gpu) -> bool:
    """A GPU that is lost or hangs tells no processes."""
    return gpu.gauges is not None and gpu.gauges.state != "ok"


def _print(session: LiveSession, name: str, flags: Flags, *, stream: bool) -> None:
    state = session.state
    host = state.hosts[name]
    if flags.json_output:
        head = {"schema": SCHEMA, "ts": session.header.at(state.t), "demo": session.demo}
        emit(head | status(host, state.t), stream=stream)
    else:
        click.echo("\n".join([*["DEMO"] * session.demo, *status_lines(host, state.t)]))
    sys.stdout.flush()
