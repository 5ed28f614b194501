"""Stopping a server: through its job, its unit, or the process itself; then the proof that its memory is back."""

from __future__ import annotations

import asyncio
import base64
import time
from typing import Literal, NamedTuple

from console.events.serve import MemoryReturned, Server, ServerRequestFailed, ServerStopAsked
from console.gates.in_the_way import gpus_of
from console.remote.errors import AgentError
from console.state.host import Gpu
from console.state.model import HostState
from console.state.serve import ServerState
from console.values import Unknown, clean, format_gib, known
from console.workers import jobs
from console.workers.box import Box

MARGIN_S = 30.0  # what stopping may take beyond the grace
MEMORY_LIMIT_S = 30.0
TOLERANCE_BYTES = 512 << 20
OURS = "gpudeck-"  # units with this beginning are the console's own
How = Literal["job", "unit", "process"]


class StopRefusedError(Exception):
    """The console does not stop this server; one sentence says why and what would help."""


class Stopping(NamedTuple):
    """What was asked to stop, with what it held before: bytes used by GPU UUID."""

    how: How
    pids: frozenset[int]
    gpus: tuple[str, ...]
    baseline: dict[str, int]


def how_to_stop(host: HostState, server: ServerState) -> How:
    """By which way this server is stopped. Raises StopRefusedError for what is not ours to stop."""
    seen = server.seen
    if seen is None or not server.present:
        if job_runs(host, server):
            return "job"
        raise StopRefusedError(f"{server.id} does not run")
    if seen.container:
        raise StopRefusedError(f"it runs in container {seen.container}: stop it there")
    if seen.job:
        return "job"
    if seen.owner == "foreign" and not seen.unit.startswith(OURS):
        who = seen.user if known(seen.user) else "somebody"
        raise StopRefusedError(f"{who} started it, not this console: adopt it first (`gpudeck serve HOST adopt`)")
    return "unit" if seen.unit else "process"


def job_runs(host: HostState, server: ServerState) -> bool:
    """Whether anything of the server's job still lives."""
    found = host.jobs.jobs
    return known(found) and any(job.id == server.id and job.state in ("running", "draining") for job in found)


async def ask_stop(box: Box, host: HostState, server: ServerState, grace_s: float | None) -> Stopping:
    """Ask it to stop; a unit and a process are gone when this returns, a job ends by and by.

    Raises StopRefusedError, JobError, AgentError (the system refused), LinkLost.
    """
    how = how_to_stop(host, server)
    stopping = _before(host, server, how)
    grace = 60.0 if grace_s is None else grace_s
    box.publish(ServerStopAsked(host=box.name, server=server.id, how=how, grace_s=grace))
    try:
        await _ask(box, server, how, grace_s)
    except (AgentError, jobs.JobError) as error:
        reason = clean(str(error))
        box.publish(ServerRequestFailed(host=box.name, server=server.id, action="stop", reason=reason))
        raise
    await box.agent.request("probe", name="servers", now=True)
    return stopping


async def _ask(box: Box, server: ServerState, how: How, grace_s: float | None) -> None:
    grace = 60.0 if grace_s is None else grace_s
    if how == "job":
        await jobs.stop(box, server.id, grace_s)
        return
    assert server.seen is not None
    if how == "unit":
        await systemctl(box, server.seen.unit_scope, "stop", server.seen.unit, timeout_s=grace + MARGIN_S)
    else:
        await _stop_process(box, server.seen, grace)


def _before(host: HostState, server: ServerState, how: How) -> Stopping:
    """Its processes and GPUs, and the memory that was used before it came."""
    found = host.jobs.jobs
    meta = next((job.meta for job in found if job.id == server.id), {}) if known(found) else {}
    pids = frozenset(server.seen.processes) if server.seen else frozenset[int]()
    return Stopping(how, pids, tuple(sorted(gpus_of(host, server))), dict(meta.get("baseline") or {}))


def _pids(gpu: Gpu) -> frozenset[int]:
    return frozenset(process.pid for process in gpu.processes) if known(gpu.processes) else frozenset()


async def systemctl(box: Box, scope: str, verb: str, *words: str, timeout_s: float) -> None:
    """One systemctl call; AgentError with its own words when it fails."""
    manager = ["--user"] if scope == "user" else []
    output = b""
    async with box.agent.stream("exec", argv=["systemctl", *manager, verb, *words], timeout_s=timeout_s) as stream:
        async for part in stream:
            output += base64.b64decode(part["data"])
    ending = stream.result or {}
    if ending.get("exit_code") != 0:
        said = clean(output.strip().rpartition(b"\n")[2]) or f"exit code {ending.get('exit_code')}"
        raise AgentError("failed", f"systemctl {verb} {' '.join(words)}: {said}")


async def _stop_process(box: Box, server: Server, grace_s: float) -> None:
    identity = {"pid": server.pid, "start": server.start, "boot_id": server.boot_id}
    async with box.agent.stream("server_stop", **identity, grace_s=grace_s) as stream:
        async for _ in stream:
            pass


async def prove_memory(box: Box, host: HostState, server: ServerState, stopping: Stopping) -> MemoryReturned:
    """Wait until NVML shows none of its processes and the memory of before; told as a fact.

    When there was no baseline, memory is back when none of its processes is listed any more.
    """
    deadline = time.monotonic() + MEMORY_LIMIT_S
    while True:
        fact = judge_memory(host, server, stopping)
        if fact.returned is True or not known(fact.returned) or time.monotonic() >= deadline:
            box.publish(fact)
            return fact
        await asyncio.sleep(1.0)
        await box.agent.request("probe", name="gpus", now=True)


def judge_memory(host: HostState, server: ServerState, stopping: Stopping) -> MemoryReturned:
    """What the last samples say."""
    gpus = host.hardware.gpus
    if not known(gpus):
        return _fact(host, server, Unknown(f"GPUs unknown: {gpus.reason}"), "GPU memory: not known", ())
    mine = [gpus[uuid] for uuid in stopping.gpus if uuid in gpus]
    if not mine:
        why = "none of its processes was seen on a GPU"
        return _fact(host, server, Unknown(why), f"GPU memory: {why}", ())
    left = sorted({pid for gpu in mine for pid in _pids(gpu) & stopping.pids})
    over = [gpu for gpu in mine if _over(gpu, stopping.baseline)]
    if left:
        return _fact(host, server, False, f"GPU memory is still held by its processes {left}", tuple(left))
    if over:
        said = ", ".join(_held(gpu, stopping.baseline) for gpu in over)
        return _fact(host, server, False, f"GPU memory is not back: {said}", ())
    used = ", ".join(f"GPU {gpu.identity.index} {_used(gpu)}" for gpu in mine)
    return _fact(host, server, True, f"GPU memory is back: {used} used", ())


def _fact(
    host: HostState, server: ServerState, returned: bool | Unknown, sentence: str, left: tuple[int, ...]
) -> MemoryReturned:
    return MemoryReturned(host=host.name, server=server.id, returned=returned, sentence=clean(sentence), left_pids=left)


def _over(gpu: Gpu, baseline: dict[str, int]) -> bool:
    used, before = (gpu.gauges.memory_used_bytes if gpu.gauges else None), baseline.get(gpu.identity.uuid)
    return used is not None and known(used) and before is not None and used > before + TOLERANCE_BYTES


def _used(gpu: Gpu) -> str:
    return format_gib(gpu.gauges.memory_used_bytes) if gpu.gauges else "unknown"


def _held(gpu: Gpu, baseline: dict[str, int]) -> str:
    others = ", ".join(str(pid) for pid in sorted(_pids(gpu))) or "no process is listed"
    before = format_gib(baseline[gpu.identity.uuid])
    return f"GPU {gpu.identity.index} uses {_used(gpu)}, {before} before ({others})"
