"""Replacing a server with the way back: the incumbent returns when the new one is not ready in time."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec

from console.remote.errors import AgentError
from console.state.model import HostState
from console.state.serve import ENDED, ServerState
from console.values import known, strict_json
from console.workers import jobs
from console.workers.box import Box
from console.workers.serve import GRACE_S, Secrets, yaml
from console.workers.serve_stop import MARGIN_S, Stopping, ask_stop, how_to_stop, job_runs, prove_memory, systemctl

LOOK_S = 0.25
Verdict = Literal["ready", "ended", "late"]
# Takes the place of itself: an adopted server's own words and environment, which never leave the box.
_AGAIN = (
    "import json,os,sys;r=json.load(open(sys.argv[1]));"
    "e={**r['env'],**{k:v for k,v in os.environ.items() if k.startswith('GPUDECK_JOB')}};"
    "os.chdir(r['cwd']);os.execvpe(r['argv'][0],r['argv'],e)"
)


class Incumbent(msgspec.Struct, frozen=True, kw_only=True):
    """How a running server is brought back: as the job that it was, by its unit, or from its adoption's file."""

    server: str
    spec: jobs.JobSpec | None = None
    unit: str = ""
    unit_scope: str = ""


async def capture(box: Box, host: HostState, server: ServerState, secrets: Secrets) -> Incumbent:
    """Everything that is needed to bring it back, before it is stopped. Raises StopRefusedError, AgentError."""
    how, seen = how_to_stop(host, server), server.seen
    if how == "job":
        return Incumbent(server=server.id, spec=await _job_again(box, host, server, secrets))
    assert seen is not None
    if how == "unit":
        return Incumbent(server=server.id, unit=seen.unit, unit_scope=seen.unit_scope)
    adopted = await box.agent.request("adopt", pid=seen.pid, start=seen.start, by=jobs.user_at_laptop())
    python = str(box.agent.hello.get("python") or "python3")
    spec = jobs.JobSpec(
        kind="serve",
        key=f"port {seen.port}",
        argv=(python, "-I", "-S", "-c", _AGAIN, str(adopted["path"])),
        grace_s=GRACE_S,
        meta={"port": seen.port, "adopted": server.id},
    )
    return Incumbent(server=server.id, spec=spec)


async def _job_again(box: Box, host: HostState, server: ServerState, secrets: Secrets) -> jobs.JobSpec:
    """The job as its record on the box tells it; the record hides secrets, so that they are given again."""
    found = host.jobs.jobs if known(host.jobs.jobs) else ()
    job = next((one for one in found if one.id == server.id), None)
    if job is None:
        raise AgentError("not_found", f"the job {server.id} is not listed any more")
    read = await box.agent.request("read", path=f"{job.directory}/job.json", max_bytes=1 << 17)
    record: dict[str, Any] = strict_json(base64.b64decode(read["data"]))
    argv = tuple(word.replace(job.directory, "{job_dir}") for word in record["argv"])
    shown = {name: value for name, value in record["env"].items() if not name.startswith("GPUDECK_JOB")}
    files = {name: yaml(secrets.flags) for name in record["files"]}
    return jobs.JobSpec(
        kind=job.kind,
        key=job.key,
        argv=argv,
        env={name: value for name, value in shown.items() if name not in secrets.env},
        secret_env=secrets.env,
        files=files,
        cwd=record["cwd"],
        grace_s=job.grace_s,
        meta=job.meta,
    )


async def bring_back(box: Box, incumbent: Incumbent) -> jobs.Started | None:
    """Start it again; the job, or None for a unit. Raises JobRefusedError, JobError, AgentError, LinkLost."""
    if incumbent.spec is not None:
        started = await jobs.start(box, incumbent.spec)
        await box.agent.request("probe", name="servers", now=True)
        return started
    await systemctl(box, incumbent.unit_scope, "start", incumbent.unit, timeout_s=GRACE_S + MARGIN_S)
    await box.agent.request("probe", name="servers", now=True)
    return None


async def stopped(box: Box, host: HostState, server: ServerState, grace_s: float | None) -> Stopping:
    """Ask it to stop, and wait until it is gone and its memory is back. Raises TimeoutError besides `ask_stop`'s."""
    stopping = await ask_stop(box, host, server, grace_s)
    limit_s = (GRACE_S if grace_s is None else grace_s) + MARGIN_S
    now = host.serve.servers[server.id]
    if not await until(lambda: now.phase in ENDED and not now.present and not job_runs(host, now), limit_s):
        raise TimeoutError(f"{server.id} still runs after {limit_s:g} s")
    await prove_memory(box, host, now, stopping)
    return stopping


async def readiness(host: HostState, server_id: str, limit_s: float) -> Verdict:
    """Wait for a server to become ready, or to end."""

    def decided() -> bool:
        server = host.serve.servers.get(server_id)
        return server is not None and (server.phase in ENDED or server.proved is not None)

    if not await until(decided, limit_s):
        return "late"
    return "ended" if host.serve.servers[server_id].phase in ENDED else "ready"


async def until(test: Callable[[], bool], limit_s: float) -> bool:
    deadline = time.monotonic() + limit_s
    while not test():
        if time.monotonic() >= deadline:
            return False
        await asyncio.sleep(LOOK_S)
    return True


class Swap(msgspec.Struct, frozen=True, kw_only=True):
    """How a swap ended: the new server's job, and its verdict; unless `ready`, the incumbents are back."""

    job: jobs.Started
    verdict: Verdict


async def swap(
    box: Box,
    host: HostState,
    incumbents: Sequence[Incumbent],
    spec: jobs.JobSpec,
    *,
    grace_s: float | None,
    ready_s: float,
) -> Swap:
    """Stop the incumbents and start the new one; not ready within `ready_s`, it goes and the old ones come back."""
    gone: list[Incumbent] = []
    try:
        for one in incumbents:
            gone.append(one)
            await stopped(box, host, host.serve.servers[one.server], grace_s)
        job = await jobs.start(box, spec)
    except (jobs.JobError, jobs.JobRefusedError, TimeoutError, AgentError):
        await _all_back(box, host, gone)
        raise
    await box.agent.request("probe", name="servers", now=True)
    verdict = await readiness(host, job.id, ready_s)
    if verdict == "ready":
        return Swap(job=job, verdict=verdict)
    failed = host.serve.servers.get(job.id)
    if verdict == "late" and failed is not None:
        await stopped(box, host, failed, grace_s)
    await _all_back(box, host, incumbents)
    return Swap(job=job, verdict=verdict)


async def _all_back(box: Box, host: HostState, incumbents: Sequence[Incumbent]) -> None:
    """Those that do not run any more are started again."""
    for one in incumbents:
        if not host.serve.servers[one.server].present:
            await bring_back(box, one)
