"""`gpudeck jobs HOST list|show|stop|pause|resume|prune`: the long work on a box."""

from __future__ import annotations

from typing import Any

import click

from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.follow import asking, box_of
from console.cli.output import emit, say
from console.cli.stop import DONE, GATE, TIMED_OUT, USAGE, StopError
from console.events.jobs import Job
from console.session.live import LiveSession
from console.values import known
from console.views import jobs as views
from console.workers import jobs

SAMPLE_LIMIT_S = 10.0
_CHANGES = ("stop", "pause", "resume", "prune")
_NEED_ID = ("show", "stop", "pause", "resume")


@click.command("jobs")
@click.argument("host")
@click.argument("action", type=click.Choice(["list", "show", "stop", "pause", "resume", "prune"]), default="list")
@click.argument("job_id", metavar="[ID]", required=False)
@click.option(
    "--grace",
    "grace_s",
    type=click.FloatRange(min=0),
    metavar="S",
    help="Seconds the job gets to end (stop; default: its own).",
)
@click.option("--all", "everything", is_flag=True, help="Proof files, too, and only when nothing runs (prune).")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.pass_obj
def command(
    flags: Flags, host: str, action: str, job_id: str | None, grace_s: float | None, everything: bool, dry_run: bool
) -> int:
    """Jobs on the box: they outlive the console and the laptop."""
    if action in _NEED_ID and job_id is None:
        raise StopError(USAGE, f"Which job? `gpudeck jobs {host} list` shows their ids.")
    return run(_Command(flags, host, grace_s, everything, dry_run).run(action, job_id or ""))


class _Command:
    def __init__(self, flags: Flags, host: str, grace_s: float | None, everything: bool, dry_run: bool) -> None:
        self.flags, self.host = flags, host
        self.grace_s, self.everything, self.dry_run = grace_s, everything, dry_run

    async def run(self, action: str, job_id: str) -> int:
        async with connected(self.flags, self.host) as session:
            if action in _CHANGES and session.read_only and not self.dry_run:
                raise StopError(GATE, f"{self.host} is opened read-only: jobs cannot be changed.")
            await sampled(session, self.host)
            if action == "list":
                return self._list(session)
            if action == "prune":
                return await self._prune(session)
            job = found(session, self.host, job_id)
            if action == "show":
                return await self._show(session, job)
            return await self._change(session, action, job)

    def _emit(self, session: LiveSession, schema: str, value: dict[str, Any]) -> None:
        head = {"schema": schema, "ts": session.header.at(session.state.t), "host": self.host}
        emit(head | ({"dry_run": True} if self.dry_run else {}) | value)

    def _list(self, session: LiveSession) -> int:
        box = session.state.hosts[self.host]
        if self.flags.json_output:
            self._emit(session, "gpudeck.jobs/1", {"jobs": views.jobs_value(box), "older": box.jobs.older})
        else:
            click.echo("\n".join(views.job_lines(box, session.state.t)))
        return DONE

    async def _show(self, session: LiveSession, job: Job) -> int:
        with asking():
            log = await jobs.log_tail(box_of(session, self.host), job.directory)
        if self.flags.json_output:
            self._emit(session, "gpudeck.job/1", {"job": views.job_details(job), "log": log})
        else:
            click.echo("\n".join([*views.job_texts(job), *log]))
        return DONE

    async def _change(self, session: LiveSession, action: str, job: Job) -> int:
        if not self.dry_run:
            job = await self._do(session, action, job)
        if self.flags.json_output:
            self._emit(session, "gpudeck.job/1", {"job": views.job_details(job)})
        elif self.dry_run:
            click.echo(f"Would {action} {job.id} ({job.kind} of {job.key}), pid {job.pid}, {job.state}.")
        else:
            click.echo(f"{job.id}: {views.state_word(job)[1]}")
        return DONE

    async def _do(self, session: LiveSession, action: str, job: Job) -> Job:
        """Ask, then wait until the box shows it: a stopped job has nothing left that runs."""
        box = box_of(session, self.host)
        with asking():
            if action == "stop":
                pids = await jobs.stop(box, job.id, self.grace_s)
                say(self.flags, f"{len(pids)} processes to end." if pids else "Nothing of it runs any more.")
            else:
                await (jobs.pause if action == "pause" else jobs.resume)(box, job.id)
        limit_s = self.flags.timeout
        if not await session.wait(lambda state: _done(found(session, self.host, job.id), action), limit_s):
            raise StopError(TIMED_OUT, f"{job.id} is still {found(session, self.host, job.id).state}.")
        return found(session, self.host, job.id)

    async def _prune(self, session: LiveSession) -> int:
        with asking():
            pruned = await jobs.prune(box_of(session, self.host), everything=self.everything, dry_run=self.dry_run)
        if self.flags.json_output:
            value: dict[str, Any] = {name: getattr(pruned, name) for name in pruned.__struct_fields__}
            self._emit(session, "gpudeck.prune/1", value)
        else:
            click.echo("\n".join(_pruned(pruned, self.dry_run)))
        if self.everything and pruned.running:
            raise StopError(GATE, f"Nothing was removed: {', '.join(pruned.running)} runs.")
        return DONE


async def sampled(session: LiveSession, host: str) -> None:
    """Wait for the first look at the jobs."""
    if not await session.wait(lambda state: known(state.hosts[host].jobs.seen_t), SAMPLE_LIMIT_S):
        raise StopError(TIMED_OUT, f"{host} did not list its jobs within {SAMPLE_LIMIT_S:g} s.")


def found(session: LiveSession, host: str, job_id: str) -> Job:
    """The job, or a usage error that names the nearest."""
    box = session.state.hosts[host]
    job = views.find_job(box, job_id)
    if job is not None:
        return job
    from difflib import get_close_matches

    ids = [each.id for each in box.jobs.jobs] if known(box.jobs.jobs) else []
    near = get_close_matches(job_id, ids, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"`gpudeck jobs {host} list` names all."
    raise StopError(USAGE, f"{host} has no job {job_id}; {hint}")


def _done(job: Job, action: str) -> bool:
    if action == "stop":
        return job.state not in ("running", "draining")
    return job.paused == (action == "pause") or job.state != "running"


def _pruned(pruned: jobs.Pruned, dry_run: bool) -> list[str]:
    verb = "Would remove" if dry_run else "Removed"
    lines = [f"{verb} {path}" for path in [*pruned.removed, *pruned.proofs, *pruned.adopted]] or ["Nothing to remove."]
    lines += [f"Runs: {job_id}" for job_id in pruned.running]
    names = {"units": "unit (`gpudeck serve HOST uninstall`)", "models": "model", "tokens": "token"}
    return lines + [f"Stays: {names[kind]} {path}" for kind, paths in pruned.stays.items() for path in paths]
