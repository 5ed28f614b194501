"""Following a job: what it writes is shown, its end is the command's end, and ctrl+c leaves it running."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from console.cli.stop import GATE, INTERRUPTED, TIMED_OUT, StopError
from console.events.jobs import Job
from console.remote.errors import RemoteError, request_sentence
from console.session.live import LiveSession
from console.state import State
from console.views import jobs as views
from console.workers import jobs
from console.workers.box import Box

Show = Callable[[dict[str, Any]], None]


def box_of(session: LiveSession, host: str) -> Box:
    """The connected box; the link may have gone since."""
    box = session.box(host)
    if box is None:
        link = session.state.hosts[host].link
        raise StopError(link.exit_code or 3, link.sentence or f"The link to {host} is {link.state}.")
    return box


@contextlib.contextmanager
def asking() -> Any:
    """What the box refuses or does not answer ends the command with one sentence."""
    try:
        yield
    except jobs.JobError as error:
        raise StopError(error.exit_code, f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    except RemoteError as error:
        raise StopError(error.exit_code, request_sentence(error)) from error


async def begin(session: LiveSession, host: str, spec: jobs.JobSpec) -> tuple[jobs.Started, bool]:
    """Start a job, or find the same one of this user that runs: (job, whether it is new). Another user's ends in 4."""
    with asking():
        try:
            return await jobs.start(box_of(session, host), spec), True
        except jobs.JobRefusedError as refused:
            if refused.job.by == jobs.user_at_laptop():
                return refused.job, False
            raise StopError(GATE, f"{str(refused)[:1].upper()}{str(refused)[1:]}.") from refused


async def follow(session: LiveSession, host: str, started: jobs.Started, show: Show, timeout_s: float | None) -> Job:
    """Show each line of the job's progress until its main process has ended, over any loss of the link.

    Raises StopError: 130 after ctrl+c, 124 when it takes longer than `timeout_s`. The job goes on in both cases.
    """
    told = _Told(show)
    telling = asyncio.create_task(_tell(session, host, started.directory, told))
    goes_on = f"The job goes on: `gpudeck jobs {host} show {started.id}`."
    try:
        if not await session.wait(lambda state: _ended(state, host, started.id) is not None, timeout_s):
            raise StopError(TIMED_OUT, f"Still running after {timeout_s:g} s. {goes_on}")
    except asyncio.CancelledError:
        raise StopError(INTERRUPTED, f"Detached. {goes_on}") from None
    finally:
        telling.cancel()
        await asyncio.wait([telling])
    await _last_words(session, host, started.directory, told)
    job = _ended(session.state, host, started.id)
    assert job is not None
    return job


def _ended(state: State, host: str, job_id: str) -> Job | None:
    job = views.find_job(state.hosts[host], job_id)
    return job if job is not None and views.ended(job) else None


class _Told:
    """Hands on each line once, through reconnects."""

    def __init__(self, show: Show) -> None:
        self._show, self._count = show, 0

    def take(self, number: int, line: dict[str, Any]) -> None:
        """Line `number` of the job's progress, from 0."""
        if number >= self._count:
            self._count = number + 1
            self._show(line)


async def _tell(session: LiveSession, host: str, directory: str, told: _Told) -> None:
    """What the job writes, as it comes."""
    while True:
        await session.wait(lambda _: session.box(host) is not None)
        box = session.box(host)
        if box is None:
            continue
        number = 0
        with contextlib.suppress(RemoteError):
            async for line in jobs.progress(box, directory):
                told.take(number, line)
                number += 1
        await asyncio.sleep(0.5)


async def _last_words(session: LiveSession, host: str, directory: str, told: _Told) -> None:
    """What the ended job wrote last, however slow the link is; nothing where the link is down just now."""
    box = session.box(host)
    if box is None:
        return
    with contextlib.suppress(RemoteError):
        for number, line in enumerate(await jobs.progress_so_far(box, directory)):
            told.take(number, line)
