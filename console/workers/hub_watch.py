"""Watches the Hub's side of a box while its link is up: token and stored models at first, transfers, closed gates."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from typing import Any

from console.events.hub import AccessChecked, DownloadFellShort, StoredRead
from console.events.jobs import Job
from console.gates.access import advise
from console.remote.errors import RemoteError
from console.state import HostState
from console.values import CleanText, clean, known
from console.workers.box import Box
from console.workers.hub import HubError, Want, check_token, look, place_of, read_inventory, read_stored
from console.workers.hub_jobs import KINDS, tell_progress
from console.workers.looks import Looks

LOOK_S = 0.5
RECHECK_S = 60.0
LAST_WORDS_S = 3.0  # the tail looks four times a second, over a slow link
ENDED = CleanText("ended_early")
WAITING = ("login_required", "request_needed", "request_pending", "token_scope", "rate_limited", "hub_error")


class HubWatch:
    """One box, over all its connections: a download that was started elsewhere is followed like one of ours."""

    def __init__(self, host: HostState, looks_first: bool, recheck_s: float = RECHECK_S) -> None:
        """`looks_first`: ask for token and stored models at each connection."""
        self._host, self._looks_first, self._recheck_s = host, looks_first, recheck_s
        self._rechecked = time.monotonic()
        self._past: set[str] | None = None  # what had ended before the first look: told by nobody any more

    async def run(self, connected: Callable[[], Box | None], looks: Looks) -> None:
        """Until cancelled; without a link nothing is asked."""
        while True:
            box = connected()
            if box is not None:
                with contextlib.suppress(RemoteError):
                    await self._watch(box, connected, looks)
            await looks.next()

    async def _watch(self, box: Box, connected: Callable[[], Box | None], looks: Looks) -> None:
        tasks: dict[str, asyncio.Task[None]] = {}
        if self._looks_first:
            tasks["first look"] = asyncio.create_task(first_look(box))
        try:
            while connected() is box:
                for name, work in self._wanted(box):
                    if name not in tasks:
                        tasks[name] = asyncio.create_task(work)
                        tasks[name].add_done_callback(looks.ended)
                    else:
                        work.close()
                for task in tasks.values():
                    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                        raise error
                await looks.next()
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    def _wanted(self, box: Box) -> list[tuple[str, Coroutine[Any, Any, None]]]:
        wanted: list[tuple[str, Coroutine[Any, Any, None]]] = []
        jobs = self._host.jobs.jobs
        shown = {repo.download.job for repo in self._host.hub.repos.values() if repo.download}
        if known(jobs) and self._past is None:
            self._past = {job.id for job in jobs if job.state != "running" and job.id not in shown}
        for job in jobs if known(jobs) else ():
            # One that began and ended between two looks has its last words, too.
            if job.kind in KINDS and (job.state == "running" or job.id in shown or job.id not in (self._past or ())):
                wanted.append((job.id, self._transfer(box, job)))
        if time.monotonic() - self._rechecked >= self._recheck_s:
            self._rechecked = time.monotonic()
            wanted.append((f"gate {self._rechecked}", self._recheck(box)))
        return wanted

    async def _transfer(self, box: Box, job: Job) -> None:
        """Follows one job to its last line, or to its end without one; then what it left is looked at."""
        repo, path = clean(str(job.meta.get("repo", job.key))), clean(str(job.meta.get("path", job.key)))
        telling = asyncio.create_task(tell_progress(box, job.id, job.directory, repo, path))
        try:
            while not telling.done() and self._state(job) in ("running", "draining"):
                await asyncio.wait([telling], timeout=LOOK_S)
            await asyncio.wait([telling], timeout=LAST_WORDS_S)
            if telling.done():
                telling.result()
            else:
                how = CleanText(self._state(job).replace("_", " "))
                short = DownloadFellShort(host=box.name, job=job.id, repo=repo, path=path, state=ENDED, text=how)
                box.publish(short)
        finally:
            telling.cancel()
            await asyncio.wait([telling])
        if self._looks_first:
            await _look_after(box, repo, path)

    def _state(self, job: Job) -> str:
        jobs = self._host.jobs.jobs
        return next((one.state for one in jobs if one.id == job.id), "removed") if known(jobs) else "running"

    async def _recheck(self, box: Box) -> None:
        """Slowly asks again for what somebody may have opened meanwhile."""
        closed = [repo.access for repo in self._host.hub.repos.values() if repo.access and _may_open(repo.access)]
        if closed:
            wants = [Want(repo=one.repo, revision=one.revision) for one in closed]
            with contextlib.suppress(HubError):
                await look(box, place_of(box), wants)


async def _look_after(box: Box, repo: CleanText, path: CleanText) -> None:
    """What a transfer left: the proof of its directory, and of all that is stored."""
    place = place_of(box)
    with contextlib.suppress(HubError):
        (model,) = await read_stored(box, place, [path])
        box.publish(StoredRead(host=box.name, repo=repo, model=model))
        await read_inventory(box, place, sorted({path.rpartition("/")[0], box.config.dir or ""} - {""}))


async def first_look(box: Box) -> None:
    """The token, and what is stored. A box that cannot ask the Hub says so once."""
    place = place_of(box)
    with contextlib.suppress(HubError):
        await check_token(box, place)
    with contextlib.suppress(HubError):
        await read_inventory(box, place, [box.config.dir] if box.config.dir else [])


def _may_open(access: AccessChecked) -> bool:
    return access.access in WAITING and advise(access).retry != "never"
