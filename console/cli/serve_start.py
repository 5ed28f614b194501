"""`serve HOST start`: gates, the job, READY by proof, one chat; or in place of the server that runs."""

from __future__ import annotations

from console.cli import serving
from console.cli.flags import Flags
from console.cli.follow import asking, box_of
from console.cli.output import emit, say
from console.cli.serving import Given
from console.cli.stop import DONE, FAILED, GATE, StopError
from console.config.records import Recipe
from console.gates.in_the_way import in_the_way
from console.models.launch import Launch
from console.session.live import LiveSession
from console.state.serve import SERVE_JOB, ServerState
from console.values import known
from console.workers import serve_stop, serve_swap
from console.workers.jobs import user_at_laptop
from console.workers.serve import Secrets, job_spec
from console.workers.whole_plan import WholePlan


async def start(
    flags: Flags, session: LiveSession, host: str, recipe: Recipe, given: Given, whole: WholePlan | None = None
) -> int:
    """Start the recipe's server, or follow it when it runs already. `whole`: its plan, when it was just made."""
    swapped = _swapped(session, host, recipe, given)
    if not swapped and not given.dry_run and (same := same_job(session, host, recipe)):
        say(flags, f"The same server runs already (job {same}): following it.")
        return await finish(flags, session, host, recipe, same, given)
    if whole is None:
        say(flags, f"Asking {host} for everything that {recipe.name} needs …")
        whole = await serving.planned(session, host, recipe, given.accept, replaced(session, host, recipe, given))
    if given.dry_run:
        return serving.show_dry(flags, session, host, whole)
    serving.must_pass(flags, whole, given.accept, stored=True)
    if swapped:
        return await _swap(flags, session, host, whole, swapped, given)
    job, new = await serving.started(session, host, whole)
    if not new:
        say(flags, f"The same server runs already (job {job.id}): following it.")
    return await finish(flags, session, host, recipe, job.id, given)


def _swapped(session: LiveSession, host: str, recipe: Recipe, given: Given) -> list[ServerState]:
    """The running servers that the new one replaces; what runs beside them on other GPUs is left alone."""
    return in_the_way(session.state.hosts[host], recipe) if given.swap else []


def replaced(session: LiveSession, host: str, recipe: Recipe, given: Given) -> frozenset[int]:
    """Processes of the servers that are replaced: what they hold is free by then."""
    servers = _swapped(session, host, recipe, given)
    return frozenset(pid for server in servers if server.seen for pid in server.seen.processes)


def same_job(session: LiveSession, host: str, recipe: Recipe) -> str:
    """The running job of this recipe, empty when there is none; another user's ends the command."""
    jobs = session.state.hosts[host].jobs.jobs
    for job in jobs if known(jobs) else ():
        if job.kind == SERVE_JOB and job.state == "running" and job.meta.get("recipe") == recipe.name:
            if job.by != user_at_laptop():
                raise StopError(GATE, f"{recipe.name} is served since {job.started}, started by {job.by}.")
            return job.id
    return ""


async def finish(flags: Flags, session: LiveSession, host: str, recipe: Recipe, job_id: str, given: Given) -> int:
    """Follow a started server to READY and the smoke test, or leave it."""
    if given.detach:
        emit({"job": job_id})
        return DONE
    server = await serving.followed(flags, session, host, job_id)
    key = serving.secrets_of(recipe).flags.get("api-key")
    return await serving.smoked(flags, session, host, server, key)


async def _swap(
    flags: Flags, session: LiveSession, host: str, whole: WholePlan, servers: list[ServerState], given: Given
) -> int:
    box, state, recipe = box_of(session, host), session.state.hosts[host], whole.plan.recipe
    assert isinstance(whole.plan.launch, Launch)
    with asking(), serving.refusing():
        incumbents = [await _captured(flags, session, host, server) for server in servers]
        secrets = serving.secrets_of(recipe)
        spec = job_spec(box, state.hardware, recipe, whole.plan.launch, secrets, whole.plan.gates, whole.commit)
        names = ", ".join(server.id for server in servers)
        say(flags, f"Replacing {names}; back when {recipe.name} is not ready in time.")
        told = await serve_swap.swap(box, state, incumbents, spec, grace_s=given.grace_s, ready_s=given.ready_within)
    if told.verdict == "ready":
        return await finish(flags, session, host, recipe, told.job.id, given)
    why = "ended" if told.verdict == "ended" else f"was not ready within {given.ready_within:g} s"
    raise StopError(FAILED, f"{told.job.id} {why}; what it replaced is started again: {names}.")


async def _captured(flags: Flags, session: LiveSession, host: str, server: ServerState) -> serve_swap.Incumbent:
    old = serving.recipe_of(flags, session, host, server)
    secrets = serving.secrets_of(old) if old else Secrets()
    return await serve_swap.capture(box_of(session, host), session.state.hosts[host], server, secrets)


async def restart(flags: Flags, session: LiveSession, host: str, server: ServerState, given: Given) -> int:
    """Stop it and start the very same again."""
    box, state = box_of(session, host), session.state.hosts[host]
    recipe = serving.recipe_of(flags, session, host, server)
    with asking(), serving.refusing():
        if given.dry_run:
            how = serve_stop.how_to_stop(state, server)
            return serving.would(flags, session, host, server, f"restart {server.id} through its {how}")
        incumbent = await _captured(flags, session, host, server)
        await serve_swap.stopped(box, state, server, given.grace_s)
        job = await serve_swap.bring_back(box, incumbent)
    if job is None:
        say(flags, f"Unit {incumbent.unit} is started again.")
    if given.detach:
        emit({"job": job.id if job else None})
        return DONE
    again = job.id if job else await serving.of_unit(session, host, incumbent.unit)
    back = await serving.followed(flags, session, host, again)
    key = serving.secrets_of(recipe).flags.get("api-key") if recipe else None
    return await serving.smoked(flags, session, host, back, key)
