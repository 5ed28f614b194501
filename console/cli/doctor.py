"""`gpudeck doctor [HOST]`: checks with one way out each, and a bundle for a bug report."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import socket
from pathlib import Path
from typing import Any, NamedTuple

import click

from console.cli.asking import terminal_asker
from console.cli.boxes import configuration, host_named, live, reach, run
from console.cli.bundle import check_new, last_recording, write_bundle
from console.cli.flags import Flags
from console.cli.output import emit, say, utc_now
from console.cli.scrub import Scrubber
from console.cli.stop import StopError
from console.config import Config, HostConfig
from console.remote.errors import RemoteError
from console.remote.ssh_config import Hop, resolve
from console.session.live import LiveSession
from console.session.picker import DEMO, LOCAL
from console.state import State
from console.values import known
from console.values.secrets import redact
from console.views import status as status_view
from console.views.doctor import SCHEMA, Check, box_checks, doctor_lines, doctor_value, unreachable
from console.workers.doctor import examine

SAMPLES_S = 5.0
EXAMINE_S = 45.0


class Found(NamedTuple):
    """The checks, the status object of a box that was reached, and how the command fails when it was not."""

    checks: list[Check]
    ts: str
    status: dict[str, Any] | None = None
    failure: StopError | None = None


@click.command("doctor")
@click.argument("host", required=False)
@click.option("--bundle", type=click.Path(dir_okay=False, path_type=Path), help="Write what a bug report needs.")
@click.pass_obj
def command(flags: Flags, host: str | None, bundle: Path | None) -> None:
    """Check a box, or without HOST this laptop. Exit 0 also when something is wrong: that is an answer."""
    if bundle is not None:
        check_new(bundle)
    scrubber = Scrubber()
    found = run(_box(flags, host, scrubber)) if host else _laptop(flags)
    value = {"schema": SCHEMA, "ts": found.ts} | doctor_value(host, found.checks)
    if bundle is not None:
        documents = {"doctor": value} | ({"status": found.status} if found.status else {})
        _write(bundle, documents, host, scrubber)
        value["bundle"] = str(bundle)
    if found.failure is not None:
        raise found.failure
    if flags.json_output:
        emit(value)
    else:
        click.echo(redact("\n".join(doctor_lines(found.checks))))
    if bundle is not None:
        say(flags, f"{bundle} holds no secrets, names and addresses; look into it before you pass it on.")


def _laptop(flags: Flags) -> Found:
    from console.cli.doctor_laptop import laptop_checks

    return Found(laptop_checks(flags), utc_now())


async def _box(flags: Flags, name: str, scrubber: Scrubber) -> Found:
    config = configuration(flags)
    host = host_named(config, name)
    hops = await asyncio.to_thread(_hops, config, host)
    scrubber.name("host", name)
    for hop in hops:
        for kind, text in (("host", hop.host), ("host", hop.known_as), ("user", hop.user)):
            scrubber.name(kind, text)
    notes = [note for hop in hops for note in hop.notes]
    async with live(flags, [host], config, flags.record, terminal_asker()) as session:
        session.start()
        try:
            await reach(session, name, config.settings.timeout)
        except StopError as failure:
            return Found(unreachable(failure.sentence), _ts(session), None, failure)
        await asyncio.gather(session.wait(lambda state: _sampled(state, name), SAMPLES_S), _examine(session, name))
        state = session.state
        value = {"schema": status_view.SCHEMA, "ts": _ts(session)} | status_view.status(state.hosts[name], state.t)
        return Found(box_checks(state.hosts[name], notes), _ts(session), value)


def _ts(session: LiveSession) -> str:
    return session.header.at(session.state.t)


def _hops(config: Config, host: HostConfig) -> tuple[Hop, ...]:
    """The way as the SSH configuration has it; one that cannot be used is told when it is gone."""
    if host.name in (LOCAL, DEMO):
        return ()
    try:
        return resolve(host.ssh, Path(config.settings.ssh_config) if config.settings.ssh_config else None)
    except RemoteError:
        return ()


def _sampled(state: State, name: str) -> bool:
    """GPUs with their health and links, disks, the machine and a ping have answered once."""
    hardware, link = state.hosts[name].hardware, state.hosts[name].link
    if not (known(hardware.gpus_t) and known(hardware.disks_t) and hardware.machine and known(link.rtt_s)):
        return False
    if not known(hardware.gpus) or not hardware.gpus:
        return True
    well = [gpu for gpu in hardware.gpus.values() if gpu.gauges and gpu.gauges.state == "ok"]
    return hardware.topology is not None and all(gpu.health for gpu in well)


async def _examine(session: LiveSession, name: str) -> None:
    box = session.box(name)
    if box is not None:
        with contextlib.suppress(RemoteError, TimeoutError):
            async with asyncio.timeout(EXAMINE_S):
                await examine(box)


def _write(path: Path, documents: dict[str, Any], host: str | None, scrubber: Scrubber) -> None:
    scrubber.name("user", getpass.getuser())
    for name in {socket.gethostname(), socket.gethostname().partition(".")[0]}:
        scrubber.name("host", name)
    try:
        write_bundle(path, documents, last_recording(host), scrubber)
    except OSError as error:
        raise StopError(1, f"The bundle cannot be written: {path}: {error.strerror or error}.") from error
