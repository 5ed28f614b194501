"""`gpudeck serve HOST …`: a server's whole life."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from console.cli import serve_change, serve_start, serving
from console.cli.boxes import connected, run
from console.cli.bundle import check_new
from console.cli.flags import Flags
from console.cli.follow import asking, box_of
from console.cli.hub import changing
from console.cli.output import emit, say
from console.cli.preflight import ACCEPTABLE, named
from console.cli.serve_logs import logs
from console.cli.serving import READY_S, Given
from console.cli.status import settled
from console.cli.stop import DONE, FAILED, USAGE, StopError
from console.config.paths import write_private
from console.session.live import LiveSession
from console.state.serve import SERVE_JOB, ServerState
from console.values import dump_json, known
from console.values.secrets import redact
from console.views.failure import failure_bundle
from console.views.serve import main_server, server_objects, servers_lines
from console.workers.engine_packages import tell_packages
from console.workers.serve import compare

_OF_RECIPE = {"start": serve_start.start, "install": serve_change.install}
_OF_SERVER = {"stop": serve_change.stop, "restart": serve_start.restart, "adopt": serve_change.adopt}


@click.command("serve")
@click.argument("host")
@click.argument("action", type=click.Choice([*_OF_RECIPE, "uninstall", *_OF_SERVER, "status", "list", "logs"]))
@click.argument("name", metavar="[RECIPE|SERVER]", required=False)
@click.option(
    "--grace",
    "grace_s",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds the server gets to end (default: 60).",
)
@click.option("--accept", default="", metavar="GATES", help="Gates to accept: tight, remote-code, adopt.")
@click.option("--swap", is_flag=True, help="Replace the running server; it returns when the new one is not ready.")
@click.option(
    "--ready-within",
    type=click.FloatRange(min=0),
    default=READY_S,
    show_default=True,
    metavar="S",
    help="Seconds that --swap waits for READY.",
)
@click.option("--detach", is_flag=True, help="Print the job and leave it.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what the server writes (logs).")
@click.option("--since", metavar="TIME", help="From this time of the box: HH:MM[:SS], a date with it, or 10m (logs).")
@click.option("--grep", metavar="TEXT", help="Only lines with this text (logs).")
@click.option(
    "--bundle", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write what tells of its failure: argv, versions, last lines, Xids (status, logs).",
)  # fmt: skip
@click.pass_obj
def command(flags: Flags, /, host: str, action: str, name: str | None, **given: Any) -> int:
    """Start, watch, stop, replace, adopt or install an SGLang server; without a name: the one that runs."""
    if action in _OF_RECIPE and not name:
        raise StopError(USAGE, f"Which recipe? `gpudeck recipe list` shows them: serve {host} {action} RECIPE.")
    accept = tuple(one for one in given.pop("accept").split(",") if one)
    if unfit := [one for one in accept if one not in ACCEPTABLE]:
        raise StopError(USAGE, f"{unfit[0]} is no gate that can be accepted; there are {', '.join(ACCEPTABLE)}.")
    if given["bundle"]:
        if action not in ("status", "logs"):
            raise StopError(USAGE, f"--bundle tells of a server; {action} takes none.")
        check_new(given["bundle"])
    return run(_serve(flags, host, action, name or "", Given(accept=accept, **given)))


async def _serve(flags: Flags, host: str, action: str, name: str, given: Given) -> int:
    recipe = named(flags, name) if action in _OF_RECIPE else None
    follows = action in ("start", "restart", "install") and not (given.dry_run or given.detach)
    async with connected(flags, host, follows=follows) as session:
        if action in (*_OF_RECIPE, *_OF_SERVER, "uninstall") and not given.dry_run:
            changing(session, host, f"no {action}")
        await settled(session, host)
        if recipe is not None:
            return await _OF_RECIPE[action](flags, session, host, serving.recipe_on(session, host, recipe), given)
        if action == "uninstall":
            return await serve_change.uninstall(flags, session, host, name, given)
        if action == "list":
            return _list(flags, session, host)
        if action == "stop" and not name and (starting := _starting(session, host)):
            return await serve_change.stop(flags, session, host, starting, given)
        if action == "status":
            return await _status(flags, session, host, name, given.bundle)
        server = _server(session, host, name)
        if given.bundle:
            await write_bundle(flags, session, host, server, given.bundle)
        if action == "logs":
            with asking():
                return await logs(flags, session, host, server, given)
        return await _OF_SERVER[action](flags, session, host, server, given)


async def write_bundle(flags: Flags, session: LiveSession, host: str, server: ServerState, path: Path) -> None:
    """The bundle of a server as one JSON file, 0600, secrets out."""
    with asking():
        await tell_packages(box_of(session, host), session.state.hosts[host], server)
    ts = {"ts": session.header.at(session.state.t)}
    value = ts | failure_bundle(session.state.hosts[host], server, session.state.t)
    write_private(path, redact(dump_json(value, pretty=True)).encode() + b"\n")
    say(flags, f"{path} holds no secrets; look into it before you pass it on.")


def _server(session: LiveSession, host: str, name: str) -> ServerState:
    server = main_server(session.state.hosts[host], name)
    if server is None:
        what = f"{host} has no server {name}." if name else f"No server runs on {host}."
        raise StopError(USAGE if name else FAILED, what)
    return server


def _starting(session: LiveSession, host: str) -> ServerState | None:
    """A server job that runs, but that the box does not list as a server yet."""
    state = session.state.hosts[host]
    jobs = state.jobs.jobs if known(state.jobs.jobs) else ()
    listed = state.serve.listed if known(state.serve.listed) else ()
    running = (job for job in jobs if job.kind == SERVE_JOB and job.state == "running" and job.id not in listed)
    return next((ServerState(job.id) for job in running), None)


def _list(flags: Flags, session: LiveSession, host: str) -> int:
    state, now = session.state.hosts[host], session.state.t
    if flags.json_output:
        head = {"schema": "gpudeck.servers/1", "ts": session.header.at(now), "host": host}
        emit(head | {"servers": server_objects(state, now)})
    else:
        click.echo("\n".join(servers_lines(state, now)))
    return DONE


async def _status(flags: Flags, session: LiveSession, host: str, name: str, bundle: Path | None) -> int:
    """Looking never fails: that no server runs is an answer, too."""
    if not name and main_server(session.state.hosts[host]) is None:
        serving.report_none(flags, session, host)
        return DONE
    server = _server(session, host, name)
    recipe = serving.recipe_of(flags, session, host, server)
    if recipe is not None:
        compare(box_of(session, host), server, recipe, {})
    if bundle:
        await write_bundle(flags, session, host, server, bundle)
    serving.report(flags, session, host, server)
    return DONE
