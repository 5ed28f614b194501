"""Watches the servers of a box while its link is up: logs, readiness, load, ends. What it learned outlives the link."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from console.config.starts import Start, remember_start
from console.events import Event
from console.events.jobs import Job
from console.events.serve import ServerEnded, ServerLooked, ServerMeasured, ServerProved
from console.remote.errors import AgentError, RemoteError
from console.serve.failures import End, diagnose
from console.serve.gauges import read_log
from console.state.model import HostState
from console.state.serve import ENDED, ServerState, last_ended
from console.values import Unknown, clean, format_gib, known
from console.workers.box import Box
from console.workers.engine_packages import tell_packages
from console.workers.looks import LOOK_S, Looks
from console.workers.server_gauging import Gauging
from console.workers.server_http import ServerHttp
from console.workers.server_log import LogReading, log_path_of

STARTING_S = 0.5  # between two questions whether it is ready
HEALTH_S = 5.0  # the same, when only the costly /health can tell
GAUGES_S = 2.0
QUIET_S = 5.0
LOOKS = 20  # quick looks after a line that speaks of an end
Work = Callable[[], Coroutine[Any, Any, None]]


class ServeWatch:
    """One box's servers, over all its connections."""

    def __init__(self, host: HostState) -> None:
        self._host = host
        self._readings: dict[str, LogReading] = {}

    async def run(self, connected: Callable[[], Box | None], looks: Looks) -> None:
        """Until cancelled. `connected` gives the box while its link is up; without a link nothing is asked."""
        while True:
            box = connected()
            if box is not None:
                with contextlib.suppress(RemoteError):
                    await self._watch(box, connected, looks)
            await looks.next()

    async def _watch(self, box: Box, connected: Callable[[], Box | None], looks: Looks) -> None:
        """One connection: a task for each server that runs, and for each end that is not explained."""
        tasks: dict[str, asyncio.Task[None]] = {}
        try:
            while connected() is box:
                for name, work in self._wanted(box):
                    if name not in tasks or tasks[name].done():
                        tasks[name] = asyncio.create_task(work())
                        tasks[name].add_done_callback(looks.ended)
                for task in tasks.values():
                    if task.done() and not task.cancelled() and (error := task.exception()) is not None:
                        raise error
                await looks.next()
        finally:
            for task in tasks.values():
                task.cancel()
            await asyncio.gather(*tasks.values(), return_exceptions=True)

    def _wanted(self, box: Box) -> list[tuple[str, Work]]:
        """What has to be done now, by name."""
        serve = self._host.serve
        if not known(serve.listed):
            return []
        open_ends = [serve.servers.get(job.id) or ServerState(job.id) for job in last_ended(self._host)]
        open_ends += [one for one in serve.servers.values() if one.seen and not one.present]
        wanted: list[tuple[str, Work]] = []
        for server in (serve.servers[name] for name in serve.listed):
            if server.phase not in ENDED:
                wanted.append((server.id, partial(self._server, box, server)))
        for server in open_ends:
            job = self._job(server.id)
            if server.phase in ENDED or server.present:
                continue
            if _lives(job):
                wanted.append((f"look {server.id}", partial(_look_at_jobs, box)))
            else:
                wanted.append((f"end {server.id}", partial(self._end, box, server)))
        return wanted

    def _job(self, name: str) -> Job | None:
        jobs = self._host.jobs.jobs
        return next((job for job in jobs if job.id == name), None) if known(jobs) else None

    def _reading(self, server: ServerState) -> LogReading:
        if server.id not in self._readings:
            job = self._job(server.id)
            planned = job.meta.get("planned") if job else None
            numbers = {str(key): float(value) for key, value in (planned or {}).items()}
            self._readings[server.id] = LogReading(self._host.name, clean(server.id), numbers)
        return self._readings[server.id]

    async def _server(self, box: Box, server: ServerState) -> None:
        """A running server, until it is gone."""
        caught_up = asyncio.Event()
        parts = [
            asyncio.create_task(self._follow_log(box, server, caught_up)),
            asyncio.create_task(self._ask(box, server, caught_up)),
        ]
        ends, looks = 0, 0
        try:
            while server.present and server.phase not in ENDED:
                for part in parts:
                    if part.done():
                        part.result()
                await asyncio.sleep(LOOK_S)
                if (told := len(self._reading(server).story.ends)) > ends:
                    ends, looks = told, LOOKS
                if looks > 0:  # its log speaks of an end: look now instead of at the next sample
                    looks -= 1
                    await box.agent.request("probe", name="servers", now=True)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    async def _follow_log(self, box: Box, server: ServerState, caught_up: asyncio.Event) -> None:
        path = log_path_of(self._host, server)
        if path is None:
            caught_up.set()
            return
        reading = self._reading(server)
        with contextlib.suppress(AgentError):  # a log that cannot be read: HTTP has to do
            async for fact in reading.catch_up(box.agent, path):
                self._tell(box, fact)
            caught_up.set()
            async for fact in reading.follow(box.agent, path):
                self._tell(box, fact)
        caught_up.set()

    def _tell(self, box: Box, fact: Event) -> None:
        """Publish; a start that became ready is remembered for the next one."""
        box.publish(fact)
        job = self._job(fact.server) if isinstance(fact, ServerMeasured) and "warmup" in fact.phases_s else None
        if job is not None and isinstance(fact, ServerMeasured) and job.meta.get("recipe"):
            with contextlib.suppress(OSError):  # what cannot be remembered is only missed next time
                phases_s = _imports_s(self._host.serve.servers.get(job.id)) | fact.phases_s
                start = Start(job=job.id, phases_s=phases_s, actuals=fact.actuals)
                remember_start(box.name, str(job.meta["recipe"]), start)

    async def _ask(self, box: Box, server: ServerState, caught_up: asyncio.Event) -> None:
        """Ready? Then: how loaded?"""
        assert server.seen is not None
        await caught_up.wait()  # the log first: what it tells of the past comes before the present
        if server.seen.container:
            self._looked(box, server)
            return
        http = ServerHttp(box.agent, server.seen)
        gauging = Gauging(self._host.name, server.id)
        while True:
            quiet = self._host.serve.is_quiet(server)
            if server.proved is None or server.unproved:
                by = await http.proof(quiet)
                if by is not None:
                    box.publish(ServerProved(host=self._host.name, server=server.id, by=by))
                    continue
                self._looked(box, server)
                await asyncio.sleep(STARTING_S if http.has_ready else HEALTH_S)
                continue
            story = self._readings[server.id].story if server.id in self._readings else None
            gauges = await http.gauges(quiet) or read_log(story.decode if story else None)
            for fact in gauging.take(gauges, time.monotonic()):
                box.publish(fact)
            self._looked(box, server)
            await asyncio.sleep(QUIET_S if quiet else GAUGES_S)

    def _looked(self, box: Box, server: ServerState) -> None:
        if not server.looked:
            box.publish(ServerLooked(host=self._host.name, server=server.id))

    async def _end(self, box: Box, server: ServerState) -> None:
        """Explain an end, once: the rest of the log, the evidence of the job, the first cause."""
        reading, path, job = self._reading(server), log_path_of(self._host, server), self._job(server.id)
        if path is not None:
            with contextlib.suppress(AgentError):
                async for fact in reading.catch_up(box.agent, path, rest=True):
                    box.publish(fact)
        box.publish(fact := ended(self._host, server, reading, job))
        if fact.phase == "crashed":
            await tell_packages(box, self._host, server)  # for the bundle


async def _look_at_jobs(box: Box) -> None:
    await box.agent.request("probe", name="jobs", now=True)


def _imports_s(server: ServerState | None) -> dict[str, float]:
    """Seconds from the first sight of the server to its next phase: the log has no stamp for the launch."""
    met = server.phases[:2] if server else []
    return {"imports": met[1][2] - met[0][2]} if len(met) == 2 and met[0][0] == "imports" else {}


def _lives(job: Job | None) -> bool:
    """Its end is not told before it is on record."""
    return job is not None and (job.state == "running" or (job.state == "draining" and not known(job.exit_code)))


def ended(host: HostState, server: ServerState, reading: LogReading, job: Job | None) -> ServerEnded:
    """The judgement of an end."""
    code, number = (job.exit_code, job.signal) if job else (_NO_RECORD, _NO_RECORD)
    end = End(
        exit_code=code if isinstance(code, int) else None,
        signal=number if isinstance(number, int) else None,
        stop_asked=server.stop is not None or bool(job and job.stopped_by),
        reason=job.reason if job else "",
        proved=server.proved is not None,
    )
    found = diagnose(reading.story, end, foreign_users(host, server, tuple(job.meta.get("gpus") or ()) if job else ()))
    return ServerEnded(
        host=host.name,
        server=server.id,
        phase="stopped" if found.phase == "stopped" else "crashed",
        kind=clean(found.kind),
        cause=found.cause,
        cause_phase=found.cause_phase,
        advice=tuple(clean(one) for one in found.advice),
        exit_code=code,
        signal=number,
    )


_NO_RECORD = Unknown("it was no job of ours: nobody recorded how it ended")


def foreign_users(host: HostState, server: ServerState, gpus: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Sentences on other processes that hold memory of these GPUs (UUIDs), of all the box's when none is named."""
    ours = set(server.seen.processes) if server.seen else set()
    found = host.hardware.gpus if known(host.hardware.gpus) else {}
    said = []
    for gpu in (gpu for uuid, gpu in found.items() if not gpus or uuid in gpus):
        for process in gpu.processes if known(gpu.processes) else ():
            if process.pid not in ours:
                who = process.user if known(process.user) else "somebody"
                what = process.command if known(process.command) else "a process"
                held = format_gib(process.memory_bytes)
                said.append(f"GPU {gpu.identity.index}: {held} held by {who}: {what} (pid {process.pid})")
    return tuple(said)
