"""A deploy for the screen: preflight, download, start, smoke test; every step is told as a fact.

Called again it goes on: what is on the box and proved is not fetched again, a server that runs is followed.
"""

from __future__ import annotations

import contextlib
from typing import Literal

from console.config.records import Recipe
from console.events.jobs import Job
from console.events.serve import DeployStepped, ServerRequestFailed
from console.gates.plan import blockers
from console.models.launch import Launch
from console.remote.errors import RemoteError
from console.state.model import HostState
from console.values import CleanText, clean, known
from console.workers import hub, jobs
from console.workers.box import Box
from console.workers.hub_jobs import Transfer, spec_of
from console.workers.serve import Secrets, in_its_place, job_spec, same_start, smoke, start
from console.workers.serve_adopt import adopt
from console.workers.serve_stop import StopRefusedError
from console.workers.serve_swap import readiness, stopped, until
from console.workers.server_log import fetch_older, log_path_of
from console.workers.whole_plan import WholePlan, missing_looks, whole_plan

READY_S = 1800.0
DOWNLOAD_S = 7 * 86400.0
LISTED_S = 30.0
Step = Literal["preflight", "download", "start", "smoke", "ready"]


class _FailedError(Exception):
    """A step failed; the sentence says why."""

    def __init__(self, step: Step, sentence: str) -> None:
        super().__init__(sentence)
        self.step = step


async def check_recipe(box: Box, host: HostState, recipe: Recipe, accept: tuple[str, ...] = ()) -> None:
    """Ask every gate: the answers are facts of the plan."""
    try:
        await whole_plan(box, host, recipe, accept=accept)
    except (RemoteError, hub.HubError) as error:
        _tell(box, recipe, "preflight", "failed", str(error))


async def deploy(
    box: Box, host: HostState, recipe: Recipe, secrets: Secrets, *, fetch: bool, accept: tuple[str, ...] = ()
) -> None:
    """From a recipe to a server that is proved ready; without `fetch` everything must be on the box already.

    Never raises what the box or the Hub refuse.
    """
    try:
        await _deploy(box, host, recipe, secrets, fetch, accept)
    except _FailedError as error:
        _tell(box, recipe, error.step, "failed", str(error))
    except (jobs.JobError, hub.HubError) as error:
        _tell(box, recipe, "start", "failed", str(error))
    except RemoteError as error:
        _tell(box, recipe, "start", "failed", f"{error} What was begun goes on; deploy again to follow it.")


async def _deploy(
    box: Box, host: HostState, recipe: Recipe, secrets: Secrets, fetch: bool, accept: tuple[str, ...]
) -> None:
    _tell(box, recipe, "preflight", "running")
    whole = await whole_plan(box, host, recipe, accept=accept)
    _must_pass(whole, accept)
    if whole.missing and not fetch:
        raise _FailedError("preflight", f"{'; '.join(whole.missing)}: a deploy fetches it.")
    for looked in missing_looks(whole):
        await _download(box, host, recipe, looked)
    if whole.missing:
        whole = await whole_plan(box, host, recipe, accept=accept)
        if whole.missing:
            raise _FailedError("download", whole.missing[0])
    _tell(box, recipe, "start", "running")
    assert isinstance(whole.plan.launch, Launch)
    spec = job_spec(box, host.hardware, recipe, whole.plan.launch, secrets, whole.plan.gates, whole.commit)
    job_id = await _started(box, host, spec, whole.plan.launch)
    verdict = await readiness(host, job_id, READY_S)
    server = host.serve.servers.get(job_id)
    if verdict != "ready" or server is None:
        cause = server.ended.cause if server and server.ended else f"not ready after {READY_S:g} s"
        raise _FailedError("start", cause)
    _tell(box, recipe, "smoke", "running")
    told = await smoke(box, server, secrets.flags.get("api-key"))
    if not told.ok:
        raise _FailedError("smoke", "; ".join(told.problems))
    _tell(box, recipe, "ready", "done")


async def _started(box: Box, host: HostState, spec: jobs.JobSpec, launch: Launch) -> CleanText:
    """Start it, or follow the same start of this user, from another console; the job's id."""
    try:
        return (await start(box, spec)).id
    except jobs.JobRefusedError as refused:
        job = refused.job
    if job.by == jobs.user_at_laptop():
        await until(lambda: _job(host, job.id) is not None, LISTED_S)
        if same_start(_job(host, job.id), spec, launch):
            return job.id
    raise _FailedError("start", in_its_place(job))


def _must_pass(whole: WholePlan, accept: tuple[str, ...]) -> None:
    blocking = blockers(whole.plan.gates, accept)
    if blocking:
        raise _FailedError("preflight", "; ".join(f"{gate.name}: {gate.sentence}" for gate in blocking))
    if not known(whole.plan.launch):
        raise _FailedError("preflight", whole.plan.launch.reason)


async def _download(box: Box, host: HostState, recipe: Recipe, looked: hub.Looked) -> None:
    """Start or join the download, and wait for its end; its own watcher tells how it goes."""
    _tell(box, recipe, "download", "running", looked.want.repo)
    commit = looked.access.commit
    transfer = Transfer(want=looked.want, commit=str(commit) if known(commit) else None, files=looked.files)
    place = hub.place_of(box, recipe.python, recipe.env)
    try:
        job_id = (await jobs.start(box, spec_of("download", place, transfer))).id
    except jobs.JobRefusedError as refused:
        job_id = refused.job.id
    if not await until(lambda: _over(host, job_id), DOWNLOAD_S):
        raise _FailedError("download", f"{job_id} takes too long")


def _over(host: HostState, job_id: str) -> bool:
    job = _job(host, job_id)
    return job is not None and job.state not in ("running", "draining")


def _job(host: HostState, job_id: str) -> Job | None:
    listed = host.jobs.jobs
    return next((one for one in listed if one.id == job_id), None) if known(listed) else None


def _tell(
    box: Box, recipe: Recipe, step: Step, state: Literal["running", "done", "failed"], sentence: str = ""
) -> None:
    told = DeployStepped(host=box.name, recipe=clean(recipe.name), step=step, state=state, sentence=clean(sentence))
    box.publish(told)


async def stop_server(box: Box, host: HostState, server_id: str) -> None:
    """Stop a server for the screen: what is refused becomes a fact."""
    server = host.serve.servers.get(server_id)
    if server is None:
        return
    try:
        await stopped(box, host, server, None)
    except (StopRefusedError, jobs.JobError, TimeoutError, RemoteError) as error:
        reason = clean(str(error))
        box.publish(ServerRequestFailed(host=box.name, server=server.id, action="stop", reason=reason))


async def adopt_server(box: Box, host: HostState, server_id: str) -> None:
    """Adopt a server for the screen: what is refused becomes a fact."""
    server = host.serve.servers.get(server_id)
    if server is None:
        return
    try:
        await adopt(box, server)
    except RemoteError as error:
        reason = clean(str(error))
        box.publish(ServerRequestFailed(host=box.name, server=server.id, action="adopt", reason=reason))


async def read_older(box: Box, host: HostState, server_id: str, *, fresh: bool) -> None:
    """Older lines of a server's log for the screen; what cannot be read stays unread."""
    server = host.serve.servers.get(server_id)
    path = log_path_of(host, server) if server else None
    if server is not None and path is not None:
        with contextlib.suppress(RemoteError):
            await fetch_older(box, server, path, fresh=fresh)
