"""`gpudeck wait HOST ready|download|job [ID]`: 0 when it is there, 1 when it will not be, 124 when time is over."""

from __future__ import annotations

from collections.abc import Callable

import click

from console.cli.boxes import connected, run
from console.cli.flags import Flags
from console.cli.jobs import sampled
from console.cli.output import emit
from console.cli.stop import DONE, FAILED, TIMED_OUT, USAGE, StopError
from console.events.jobs import Job
from console.state import HostState
from console.state.serve import ENDED, SERVE_JOB
from console.views import jobs as views
from console.views.serve import looked_at, main_server

# An answer, once there is one: the exit code and a sentence.
Answer = tuple[int, str]


@click.command("wait")
@click.argument("host")
@click.argument("what", type=click.Choice(["ready", "download", "job"]))
@click.argument("job_id", metavar="[ID]", required=False)
@click.pass_obj
def command(flags: Flags, host: str, what: str, job_id: str | None) -> int:
    """Wait for a server, a download or a job; `--timeout` bounds it. Without an ID: the youngest."""
    if what == "ready" and job_id is not None:
        raise StopError(USAGE, "`wait HOST ready` takes no ID.")
    return run(_wait(flags, host, what, job_id))


async def _wait(flags: Flags, host: str, what: str, job_id: str | None) -> int:
    async with connected(flags, host) as session:
        await sampled(session, host)
        subject = _subject(session.state.hosts[host], what, job_id)
        answers: list[Answer] = []

        def decided(box: HostState) -> bool:
            if answer := subject(box):
                answers.append(answer)
            return bool(answers)

        if not await session.wait(lambda state: decided(state.hosts[host]), flags.timeout):
            waited = "no server is ready" if what == "ready" else f"the {what} {job_id or ''}".rstrip() + " is not over"
            raise StopError(TIMED_OUT, f"{host}: {waited} after {flags.timeout:g} s.")
        exit_code, sentence = answers[0]
        if exit_code != DONE:
            raise StopError(exit_code, sentence)
        if flags.json_output:
            head = {"schema": "gpudeck.wait/1", "ts": session.header.at(session.state.t), "host": host}
            emit(head | {"what": what, "sentence": sentence})
        else:
            click.echo(sentence)
        return DONE


def _subject(box: HostState, what: str, job_id: str | None) -> Callable[[HostState], Answer | None]:
    """What is waited for; which job that is, is decided once."""
    if what == "ready":
        return ready
    job = views.find_job(box, job_id) if job_id else views.newest_job(box, "download" if what == "download" else None)
    if job is None:
        raise StopError(FAILED, f"{box.name} has no {what} {job_id or 'to wait for'}".rstrip() + ".")
    found = job.id
    return lambda state: _ended(views.find_job(state, found), found)


def _ended(job: Job | None, job_id: str) -> Answer | None:
    if job is None:
        return FAILED, f"The job {job_id} was removed."
    if not views.ended(job):
        return None
    word, detail = views.state_word(job)[1], views.detail(job)
    sentence = f"{job_id}: {word}" + (f", {detail}." if detail else ".")
    return (DONE if views.succeeded(job) else FAILED), sentence


def ready(box: HostState) -> Answer | None:
    """A server whose readiness is proved, or none that could still become ready."""
    server = main_server(box)
    if server is not None and server.phase == "ready":
        return (DONE, f"{server.id}: READY") if server.proved and not server.unproved else None
    if server is not None and server.phase not in ENDED:
        return None
    starting = views.newest_job(box, SERVE_JOB)
    if not looked_at(box) or (starting is not None and starting.state == "running"):
        return None
    if server is None:
        return FAILED, f"No server runs on {box.name}."
    cause = f": {server.ended.cause}" if server.ended and server.ended.cause else ""
    return FAILED, f"{server.id} {server.phase}{cause}."
