"""Jobs from the laptop: start, stop, pause, resume, prune, and the lines that a job writes.

Nothing here must be remembered: the box's own probe tells every job again after each connection, which is all that
re-adoption is.
"""

from __future__ import annotations

import base64
import getpass
import secrets
import socket
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Literal

import msgspec

from console.events.jobs import JobAction, JobRequestFailed
from console.remote.bundle import STAGE0, bundle, frame
from console.remote.errors import RemoteError, request_sentence
from console.values import CleanText, clean, clean_tree, strict_json
from console.workers.box import Box

RUNNER = "console.payloads.runner"
START_LIMIT_S = 45.0
ASK_LIMIT_S = 30.0
MAX_LINE = 4 << 20
READ_BYTES = 128 * 1024
MOST_BYTES = 64 * 1024 * 1024


class JobSpec(msgspec.Struct, frozen=True, kw_only=True):
    """What to start. No two jobs of one `kind` and `key` (its target) run at once.

    `{job_dir}` at the beginning of a word of `argv` or a value of `env` is the job's folder. Secrets: `secret_env`
    (shown as `***`), or `files`, which lie in the job's folder, 0600, until the job is over; never in `argv`.
    `server_keys`: variables that the box sets to the API key of its server (pid, start), unseen by the laptop.
    `env` comes on top of the box's. `pause`: "signal" stops the processes, "file" leaves it to the job, which
    looks for `pause` in the folder `GPUDECK_JOB_DIR`. `meta` is public and comes back in each `Job`; `path` and
    `draft_path` in it name the repositories that the job touches.
    """

    kind: str
    key: str
    argv: tuple[str, ...]
    env: dict[str, str] = {}
    secret_env: dict[str, str] = {}
    server_keys: dict[str, tuple[int, int]] = {}
    files: dict[str, bytes] = {}
    stdin: bytes = b""
    cwd: str | None = None
    meta: dict[str, Any] = {}
    pause: Literal["signal", "file"] = "signal"
    grace_s: float = 30.0
    log_cap_bytes: int = 256 * 1024 * 1024


class Started(msgspec.Struct, frozen=True, kw_only=True, rename={"started": "created"}):
    """A job that runs: `directory` holds its `log` and `progress.ndjson`."""

    id: CleanText
    kind: CleanText
    key: CleanText
    by: CleanText
    directory: CleanText
    pid: int
    started: CleanText


class JobRefusedError(Exception):
    """The same target is being worked on: `job` says by which job, and whose it is."""

    def __init__(self, job: Started) -> None:
        super().__init__(f"{job.kind} of {job.key} runs since {job.started}, started by {job.by} (job {job.id})")
        self.job = job


class JobError(Exception):
    """The box could not do it; one sentence says why."""

    exit_code = 1


def user_at_laptop() -> str:
    """Who starts jobs from here: `user@laptop`."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def python_program(python: str, package: str, config: Mapping[str, Any]) -> tuple[tuple[str, ...], bytes]:
    """`argv` and `stdin` of a job that runs one of our programs under an interpreter of the box."""
    return (python, "-I", "-u", "-c", STAGE0), frame(bundle(package, config))


def new_job_id(kind: str) -> str:
    """A name that sorts by time."""
    return f"{kind}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(2)}"


async def start(box: Box, spec: JobSpec, job_id: str = "") -> Started:
    """Start a job; starting the same `job_id` again after a lost link gives the job that was started.

    Raises JobRefusedError, JobError, RemoteError.
    """
    job_id = job_id or new_job_id(spec.kind)
    unit = f"gpudeck-{job_id}.service"
    program = frame(bundle(RUNNER, {"op": "serve", "id": job_id, "unit": unit}))
    job = msgspec.to_builtins(spec) | {"id": job_id, "by": user_at_laptop()}
    answer = await _ask(
        box,
        START_LIMIT_S,
        spec.server_keys,
        op="start",
        job=job,
        unit={"stage0": STAGE0, "payload": base64.b64encode(program).decode()},
    )
    started = msgspec.convert(clean_tree(answer["job"]), Started)
    await _look(box)
    if "refused" in answer:
        raise JobRefusedError(started)
    return started


async def stop(box: Box, job_id: str, grace_s: float | None = None) -> list[int]:
    """Ask a job to stop; it ends by and by. The pids that it had, none when nothing of it lives."""
    answer = await _ask(box, ASK_LIMIT_S, op="stop", id=job_id, by=user_at_laptop(), grace_s=grace_s)
    await _look(box)
    return list(answer["pids"])


async def request(box: Box, action: JobAction, job_id: str) -> None:
    """The same for a screen: what goes wrong becomes a fact."""
    try:
        if action == "stop":
            await stop(box, job_id)
        else:
            await (pause if action == "pause" else resume)(box, job_id)
    except (JobError, RemoteError) as error:
        reason = clean(request_sentence(error) if isinstance(error, RemoteError) else str(error))
        box.publish(JobRequestFailed(host=box.name, job=clean(job_id), action=action, reason=reason))


async def pause(box: Box, job_id: str) -> None:
    """Stop its processes, or ask it to pause itself."""
    await _ask(box, ASK_LIMIT_S, op="pause", id=job_id, by=user_at_laptop())
    await _look(box)


async def resume(box: Box, job_id: str) -> None:
    """Let a paused job go on."""
    await _ask(box, ASK_LIMIT_S, op="resume", id=job_id, by=user_at_laptop())
    await _look(box)


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """Ids removed and still running, proof files and adoptions removed, and what stays on the box."""

    removed: list[CleanText]
    running: list[CleanText]
    proofs: list[CleanText]
    adopted: list[CleanText]
    stays: dict[str, list[CleanText]]


async def prune(box: Box, *, everything: bool, dry_run: bool) -> Pruned:
    """Remove finished jobs; with `everything` also proofs, and nothing while a job runs."""
    dirs = [box.config.dir] if box.config.dir else []
    answer = await _ask(box, ASK_LIMIT_S, op="prune", all=everything, dry_run=dry_run, dirs=dirs)
    await _look(box)
    return msgspec.convert(clean_tree(answer), Pruned)


async def progress(box: Box, directory: str) -> AsyncIterator[dict[str, Any]]:
    """Every line that the job wrote into its `progress.ndjson`, and each further one, cleaned. Never ends by itself."""
    async for line in lines(box, f"{directory}/progress.ndjson"):
        if (value := _value(line)) is not None:
            yield value


async def progress_so_far(box: Box, directory: str) -> list[dict[str, Any]]:
    """The same lines as they stand now: all, once the job has ended. Raises AgentError when there is no file."""
    written = await lines_so_far(box, f"{directory}/progress.ndjson")
    return [value for line in written if (value := _value(line)) is not None]


def _value(line: bytes) -> dict[str, Any] | None:
    try:
        value = clean_tree(strict_json(line))
    except ValueError:
        return None  # a line that a full disk cut
    return value if isinstance(value, dict) else None


async def lines_so_far(box: Box, path: str) -> list[bytes]:
    """The lines of a file on the box, up to MOST_BYTES; one without its end is left out. Raises AgentError."""
    data = b""
    while len(data) < MOST_BYTES:
        read = await box.agent.request("read", path=path, offset=len(data), max_bytes=READ_BYTES)
        piece = base64.b64decode(read["data"])
        data += piece
        if not piece or len(data) >= read["size"]:
            break
    return data.split(b"\n")[:-1]


async def lines(box: Box, path: str, offset: int = 0) -> AsyncIterator[bytes]:
    """The lines of a file on the box from `offset`, and each further one. Never ends by itself."""
    rest = b""
    async with box.agent.stream("tail", path=path, offset=offset) as stream:
        async for part in stream:
            if part["event"] in ("rotated", "truncated"):
                rest = b""
            *whole, rest = (rest + base64.b64decode(part["data"])).split(b"\n")
            rest = rest if len(rest) <= MAX_LINE else b""  # no line of ours; what comes of it is no JSON
            for line in whole:
                yield line


async def log_tail(box: Box, directory: str, max_bytes: int = 16384) -> list[CleanText]:
    """The last lines of the job's log, secrets masked on the box; none when there is no log."""
    path = f"{directory}/log"
    entry = (await box.agent.request("stat", paths=[path]))["entries"][0]
    if entry is None:
        return []
    offset = max(0, entry["size"] - max_bytes)
    read = await box.agent.request("log_read", path=path, offset=offset, align=offset > 0, rest=True)
    return [clean(line) for line in base64.b64decode(read["data"]).split(b"\n") if line]


async def _ask(
    box: Box, limit_s: float, server_keys: Mapping[str, tuple[int, int]] | None = None, **request: Any
) -> dict[str, Any]:
    python = str(box.agent.hello.get("python") or "python3")
    answer = await box.agent.run_program(python, RUNNER, request, limit_s, server_keys=server_keys)
    if "error" in answer:
        raise JobError(clean(str(answer["error"])))
    return answer


async def _look(box: Box) -> None:
    """Ask the probe at once, so that the state follows what was just done."""
    await box.agent.request("probe", name="jobs", now=True)
