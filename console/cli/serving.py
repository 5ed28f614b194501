"""What `serve`, `deploy` and `sweep` share: the plan with its blockers, the start that is followed, the proof."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from console.cli.flags import Flags
from console.cli.follow import asking, begin, box_of
from console.cli.hub import show_gates
from console.cli.output import emit, say
from console.cli.preflight import book, launch_lines, launch_values
from console.cli.stop import CONNECTION, DONE, FAILED, GATE, INTERRUPTED, TIMED_OUT, USAGE, StopError
from console.config import ConfigError
from console.config.recipes import for_host
from console.config.records import Recipe
from console.config.secrets import read_secrets
from console.gates.plan import blockers
from console.models.launch import Launch
from console.remote.errors import LinkLost
from console.session.live import LiveSession
from console.state import HostState, State
from console.state.serve import ENDED, ServerState
from console.values import Unknown, known
from console.values.secrets import remember
from console.views.jobs import find_job
from console.views.plan import SCHEMA as PREFLIGHT_SCHEMA
from console.views.plan import preflight, preflight_lines
from console.views.serve import main_server, phase_word, server_lines, server_object, server_objects
from console.views.server_pane import server_words
from console.workers import jobs
from console.workers.serve import Secrets, in_its_place, job_spec, same_start, smoke
from console.workers.serve_stop import StopRefusedError
from console.workers.serve_unit import unit_name
from console.workers.whole_plan import WholePlan, whole_plan

SERVER_SCHEMA = "gpudeck.server/1"
READY_S = 1800.0
LISTED_S = 30.0


@dataclass(frozen=True)
class Given:
    """What the command line said."""

    accept: tuple[str, ...] = ()
    grace_s: float | None = None
    swap: bool = False
    ready_within: float = READY_S
    detach: bool = False
    dry_run: bool = False
    follow: bool = False
    since: str | None = None
    grep: str | None = None
    bundle: Path | None = None


@contextlib.contextmanager
def refusing() -> Iterator[None]:
    """What the console does not stop, and what did not stop, ends the command with its sentence."""
    try:
        yield
    except StopRefusedError as error:
        raise StopError(GATE, f"Not stopped: {error}.") from error
    except TimeoutError as error:
        raise StopError(TIMED_OUT, f"{error}.") from error


def recipe_of(flags: Flags, session: LiveSession, host: str, server: ServerState) -> Recipe | None:
    """The recipe that a server of ours, a job or a unit, was started from, as it reads now."""
    job = find_job(session.state.hosts[host], server.id)
    unit = server.seen.unit if server.seen else ""
    recipes = book(flags)
    try:
        name = str(job.meta.get("recipe") or "") if job else _named_by(unit, recipes.recipes)
        found = recipes.get(name)
    except ConfigError:
        return None
    return recipe_on(session, host, found)


def _named_by(unit: str, names: Iterable[str]) -> str:
    return next((name for name in names if unit and unit_name(name) == unit), "")


def recipe_on(session: LiveSession, host: str, recipe: Recipe) -> Recipe:
    """The recipe with what the host gives where it names nothing."""
    return for_host(recipe, box_of(session, host).config)


def secrets_of(recipe: Recipe) -> Secrets:
    """The recipe's secrets, read now; asked for only at a terminal."""
    try:
        flags, env = read_secrets(recipe, os.environ, _ask)
    except ConfigError as error:
        raise StopError(USAGE, f"{error}.") from error
    for value in (*flags.values(), *env.values()):
        remember(value)
    return Secrets(flags=flags, env=env)


def _ask(name: str) -> str:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise StopError(USAGE, f"The secret {name} is asked for at a terminal, and there is none.")
    return getpass.getpass(f"{name}: ", stream=sys.stderr)


async def planned(
    session: LiveSession, host: str, recipe: Recipe, accept: tuple[str, ...], own: frozenset[int] = frozenset()
) -> WholePlan:
    """Every gate of the recipe on this box."""
    box = box_of(session, host)
    try:
        return await whole_plan(box, session.state.hosts[host], recipe, accept=accept, own_pids=own)
    except LinkLost as error:
        raise StopError(CONNECTION, str(error)) from error


def must_pass(flags: Flags, whole: WholePlan, accept: tuple[str, ...], *, stored: bool) -> None:
    """End the command with every blocker in one sentence each, after its ways out; `stored`: everything must be on the
    box already."""
    blocking = blockers(whole.plan.gates, accept)
    show_gates(flags, blocking)
    said = [f"{gate.name}: {gate.sentence}" for gate in blocking]
    if stored:
        said += [f"{one}: `gpudeck download` or `gpudeck deploy` fetches it." for one in whole.missing]
    code = whole.plan.exit_code or (GATE if said else DONE)
    if said or code:
        raise StopError(code, " ".join(said) or "A gate blocks.")
    if not known(whole.plan.launch):
        raise StopError(GATE, f"No command line: {whole.plan.launch.reason}.")


def show_dry(flags: Flags, session: LiveSession, host: str, whole: WholePlan) -> int:
    """What a start would run, and what its gates say."""
    record = session.state.hosts[host].plan.recipes[whole.plan.recipe.name]
    if flags.json_output:
        head = {"schema": PREFLIGHT_SCHEMA, "ts": session.header.at(session.state.t), "dry_run": True}
        emit(head | preflight(record) | launch_values(whole.plan) | {"missing": list(whole.missing)})
    else:
        lines = [*preflight_lines(record), *(f"missing  {one}" for one in whole.missing)]
        click.echo("\n".join([*lines, *launch_lines(whole.plan)]))
    return whole.plan.exit_code


async def started(session: LiveSession, host: str, whole: WholePlan) -> tuple[jobs.Started, bool]:
    """Start the plan's server, or find the same one running: (job, whether it is new). Another one's port ends in 4."""
    recipe, start = whole.plan.recipe, whole.plan.launch
    assert isinstance(start, Launch)
    hardware = session.state.hosts[host].hardware
    spec = job_spec(box_of(session, host), hardware, recipe, start, secrets_of(recipe), whole.plan.gates, whole.commit)
    job, new = await begin(session, host, spec)
    if not new:
        await session.wait(lambda state: find_job(state.hosts[host], job.id) is not None, LISTED_S)
        if not same_start(find_job(session.state.hosts[host], job.id), spec, start):
            raise StopError(GATE, in_its_place(job))
    with asking():
        await box_of(session, host).agent.request("probe", name="servers", now=True)
    return job, new


async def followed(flags: Flags, session: LiveSession, host: str, job_id: str) -> ServerState:
    """Narrate the start until it is READY. 1 when it crashed, 124 when it takes too long, 130 after ctrl+c."""
    goes_on = f"The server's job goes on: `gpudeck serve {host} status`."
    narrate = _Narrator(flags, session, host, job_id)
    try:
        if not await session.wait(narrate, flags.timeout):
            raise StopError(TIMED_OUT, f"Not ready after {flags.timeout:g} s. {goes_on}")
    except asyncio.CancelledError:
        raise StopError(INTERRUPTED, f"Detached. {goes_on}") from None
    server = session.state.hosts[host].serve.servers[job_id]
    if server.ended is not None:
        for line in server_lines(session.state.hosts[host], server, session.state.t)[1:]:
            say(flags, line.strip())
        raise StopError(FAILED, f"{job_id} {server.ended.phase} in {server.ended.cause_phase}: {server.ended.cause}")
    return server


async def of_unit(session: LiveSession, host: str, unit: str) -> str:
    """The server that the unit runs now, once the box lists it."""
    state = session.state.hosts[host]
    if not await session.wait(lambda _: _running(state, unit) is not None, LISTED_S):
        raise StopError(FAILED, f"{unit} was started, and no server of it shows.")
    server = _running(state, unit)
    assert server is not None
    return server.id


def _running(state: HostState, unit: str) -> ServerState | None:
    server = main_server(state, unit)
    return server if server is not None and server.present else None


class _Narrator:
    """A condition to wait for, which says each new phase while it is not met."""

    def __init__(self, flags: Flags, session: LiveSession, host: str, job_id: str) -> None:
        self._flags, self._session, self._host, self._job = flags, session, host, job_id
        self._said = ""

    def __call__(self, state: State) -> bool:
        server = state.hosts[self._host].serve.servers.get(self._job)
        if server is None:
            return False
        word = phase_word(server)
        bar = server.progress
        coarse = word if bar is None else f"{server.phase} {10 * bar.done // max(1, bar.total)}"
        if coarse != self._said and server.phase not in ENDED:
            self._said = coarse
            say(self._flags, f"{self._job}: {word}")
        return server.ended is not None or (server.phase == "ready" and not server.unproved)


async def smoked(flags: Flags, session: LiveSession, host: str, server: ServerState, key: str | None) -> int:
    """The smoke test: its answer is shown; 1 when it fails."""
    with asking():
        told = await smoke(box_of(session, host), server, key)
    say(flags, f"smoke test: {told.answer!r}" if told.ok else f"smoke test failed: {'; '.join(told.problems)}")
    report(flags, session, host, server)
    if not told.ok:
        raise StopError(FAILED, f"READY, but the smoke test failed: {'; '.join(told.problems)}.")
    return DONE


def report_none(flags: Flags, session: LiveSession, host: str) -> None:
    """No server on standard output: none, or not known why."""
    found = server_objects(session.state.hosts[host], session.state.t)
    why = f"no server runs on {host}" if known(found) else found.reason
    if flags.json_output:
        emit(_head(session, host) | {"server": Unknown(why), "servers": found})
    else:
        click.echo(f"{why[:1].upper()}{why[1:]}.")


def _head(session: LiveSession, host: str) -> dict[str, Any]:
    return {"schema": SERVER_SCHEMA, "ts": session.header.at(session.state.t), "host": host}


def would(flags: Flags, session: LiveSession, host: str, server: ServerState, what: str) -> int:
    """A dry run of something done to a server."""
    if flags.json_output:
        one = server_object(session.state.hosts[host], server, session.state.t)
        emit(_head(session, host) | {"dry_run": True, "would": what, "server": one})
    else:
        click.echo(f"Would {what}.")
    return DONE


def report(flags: Flags, session: LiveSession, host: str, server: ServerState) -> None:
    """The server on standard output."""
    box, now = session.state.hosts[host], session.state.t
    if flags.json_output:
        one = server_object(box, server, now)
        first = {name: one[name] for name in ("phase", "cause", "cause_phase", "advice")}
        emit(_head(session, host) | first | {"server": one, "servers": server_objects(box, now)})
        return
    click.echo("\n".join(server_words(box, server, now)))
