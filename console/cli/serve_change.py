"""`serve HOST stop|adopt|install|uninstall`."""

from __future__ import annotations

import click

from console.cli import serving
from console.cli.flags import Flags
from console.cli.follow import asking, box_of
from console.cli.output import emit, say
from console.cli.serving import Given
from console.cli.stop import DONE, FAILED, GATE, TIMED_OUT, USAGE, StopError
from console.config.records import Recipe
from console.models.launch import Launch
from console.session.live import LiveSession
from console.state.serve import ENDED, ServerState
from console.values import Unknown, known
from console.views.serve import owner
from console.workers import serve as worker
from console.workers import serve_stop, serve_swap, serve_unit
from console.workers.serve_adopt import adopt as take
from console.workers.serve_adopt import not_adoptable, starter

ADOPTED_S = 10.0


async def stop(flags: Flags, session: LiveSession, host: str, server: ServerState, given: Given) -> int:
    """The parent, the grace, the rest; 1 when the memory did not come back."""
    box, state = box_of(session, host), session.state.hosts[host]
    if not server.present and server.phase in ENDED:
        say(flags, f"{server.id} does not run.")
        serving.report(flags, session, host, server)
        return DONE
    with asking(), serving.refusing():
        how = serve_stop.how_to_stop(state, server)
        if given.dry_run:
            return serving.would(flags, session, host, server, f"stop {server.id} ({owner(server)}) through its {how}")
        say(flags, f"Stopping {server.id} through its {how}: the parent first, then what is left.")
        await serve_swap.stopped(box, state, server, given.grace_s)
    ended = state.serve.servers[server.id]
    serving.report(flags, session, host, ended)
    return FAILED if ended.memory and ended.memory.returned is False else DONE


async def adopt(flags: Flags, session: LiveSession, host: str, server: ServerState, given: Given) -> int:
    """Take a server of somebody else into our care."""
    if why := not_adoptable(server):
        raise StopError(GATE if server.present else FAILED, f"{why}.")
    if owner(server) != "foreign":
        say(flags, f"{server.id} is {owner(server)} already.")
        serving.report(flags, session, host, server)
        return DONE
    if given.dry_run:
        return serving.would(flags, session, host, server, f"adopt {server.id}")
    if "adopt" not in given.accept:
        raise StopError(GATE, f"{starter(server)} started {server.id}; once adopted it may be stopped: --accept adopt.")
    with asking():
        await take(box_of(session, host), server)
    if not await session.wait(lambda _: server.seen is not None and server.seen.owner == "adopted", ADOPTED_S):
        raise StopError(TIMED_OUT, f"{server.id} does not show as adopted.")
    serving.report(flags, session, host, server)
    return DONE


async def install(flags: Flags, session: LiveSession, host: str, recipe: Recipe, given: Given) -> int:
    """The recipe as a unit that comes back after a reboot, followed to READY and its smoke test."""
    whole = await serving.planned(session, host, recipe, given.accept)
    unit = _unit(session, host, recipe, whole.plan.launch, given)
    if given.dry_run:
        code = serving.show_dry(flags, session, host, whole)
        say(flags, next(iter(unit.files.values()))[0])
        return code
    serving.must_pass(flags, whole, given.accept, stored=True)
    with asking():
        await serve_unit.install(box_of(session, host), unit)
    say(flags, f"{unit.name} is enabled and started ({unit.scope}): {', '.join(unit.files)}.")
    server = await serving.of_unit(session, host, unit.name)
    if given.detach:
        emit({"job": None, "unit": unit.name, "server": server})
        return DONE
    ready = await serving.followed(flags, session, host, server)
    return await serving.smoked(flags, session, host, ready, serving.secrets_of(recipe).flags.get("api-key"))


async def uninstall(flags: Flags, session: LiveSession, host: str, name: str, given: Given) -> int:
    """Stop a unit and remove its files: by its recipe, which need not exist any more, by its own name, or the only one.

    No secret is needed for that.
    """
    box = box_of(session, host)
    with asking():
        units = await serve_unit.installed(box)
        if not name and len(units) > 1:
            raise StopError(USAGE, f"Which unit? {host} has {', '.join(units)}.")
        unit = name if name.endswith(".service") else serve_unit.unit_name(name) if name else "".join(units)
        if not unit or not await serve_unit.there(box, unit):
            has = f"; it has {', '.join(units)}" if units else ""
            raise StopError(FAILED, f"{host} has no unit {unit or 'of gpudeck'} of this user{has}.")
        paths = await (serve_unit.there if given.dry_run else serve_unit.uninstall)(box, unit)
    verb = "Would stop and remove" if given.dry_run else "Stopped and removed"
    if flags.json_output:
        head = {"schema": "gpudeck.unit/1", "ts": session.header.at(session.state.t), "host": host}
        emit(head | ({"dry_run": True} if given.dry_run else {}) | {"unit": unit, "removed": paths})
    else:
        click.echo(f"{verb} {unit}: {', '.join(paths)}.")
    return DONE


def _unit(
    session: LiveSession, host: str, recipe: Recipe, start: Launch | Unknown, given: Given
) -> serve_unit.UnitFiles:
    if not known(start):
        raise StopError(GATE, f"No command line: {start.reason}.")
    grace_s = worker.GRACE_S if given.grace_s is None else given.grace_s
    hello = box_of(session, host).agent.hello
    try:
        return serve_unit.unit_files(hello, recipe, start, serving.secrets_of(recipe), grace_s)
    except ValueError as error:
        raise StopError(USAGE, f"{error}.") from error
