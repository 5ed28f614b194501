"""Follows the measurements of a box: what the worker writes becomes facts, what it measured becomes a stored run.

Nothing has to be remembered: the job's own record holds the manifest, so that any console takes up a run that
another one started, also after it has ended.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from console.bench.comparable import comparable_hash
from console.bench.measure import measure, read_requests
from console.bench.points import Context, Point
from console.bench.store import Manifest, Run, RunError, RunStore
from console.events import bench as facts
from console.events.jobs import Job
from console.events.serve import BenchmarkQuiet
from console.remote.errors import AgentError, RemoteError
from console.state.model import HostState
from console.values import CleanText, Unknown, clean, clean_tree, gunzip, known, strict_json
from console.workers import jobs
from console.workers.bench import BENCH_JOB
from console.workers.box import Box
from console.workers.exactness import compare_answers
from console.workers.looks import Looks
from console.workers.run_keeping import Fetched, RunKeeping

CHUNK_BYTES = 128 * 1024
MAX_FILE_BYTES = 256 * 1024 * 1024
MAX_REQUESTS_BYTES = 1 << 30  # of a point's requests, unpacked
LIVE = ("running", "draining")
KEPT = "progress.ndjson"
# What a damaged line or file of the box raises while it is read.
MALFORMED = (ValueError, KeyError, TypeError, AttributeError, IndexError, zlib.error)


class BenchWatch:
    """One box's measurements, over all its connections."""

    def __init__(self, host: HostState, runs: Path) -> None:
        self._host, self._store = host, RunStore(runs)

    async def run(self, connected: Callable[[], Box | None], looks: Looks) -> None:
        """Until cancelled. `connected` gives the box while its link is up."""
        while True:
            box = connected()
            job = self._next() if box is not None else None
            if box is not None and job is not None:
                with contextlib.suppress(RemoteError):
                    await Following(box, self._host, self._store, job).run()
            await looks.next()

    def _next(self) -> Job | None:
        """A running measurement, else one of ours that ended and is not stored to its end."""
        found = self._host.jobs.jobs
        ours = [job for job in found if job.kind == BENCH_JOB and readable(job)] if known(found) else []
        seen = self._host.bench.runs
        open_jobs = [job for job in ours if job.id not in seen or seen[job.id].ended is None]
        running = [job for job in open_jobs if job.state in LIVE]
        ended = [job for job in open_jobs if job.by == jobs.user_at_laptop() and not self._stored(job)]
        return next(iter(running or ended), None)

    def _stored(self, job: Job) -> bool:
        return (self._store.root / str(job.meta["run"]) / "events" / KEPT).exists()


class Following:
    """One job over one connection, from its first line."""

    def __init__(self, box: Box, host: HostState, store: RunStore, job: Job) -> None:
        self._box, self._host, self._store, self._job = box, host, store, job
        self._manifest = msgspec.convert(job.meta["manifest"], Manifest)
        self._context = msgspec.convert(job.meta["context"], Context)
        self._keeping = RunKeeping(store, self._manifest, self._blocked)
        self._begun_m = 0.0
        self._measured: set[str] = set()
        self._lines: list[str] = []
        self._sentence = ""
        port = job.key.removeprefix("port ")
        self._port = int(port) if port.isdigit() else None  # without one every server is left in peace

    async def run(self) -> None:
        """Until the job has ended and everything is stored. Raises RemoteError when the link dies."""
        await self._begin()
        path = f"{self._job.directory}/{KEPT}"
        self._box.publish(BenchmarkQuiet(host=self._box.name, quiet=True, port=self._port))
        try:
            await self._read_lines(path)
        finally:
            self._box.publish(BenchmarkQuiet(host=self._box.name, quiet=False, port=self._port))
        text = "".join(line + "\n" for line in self._lines)
        await self._keeping.finish(self._fetched, KEPT, text.encode())
        with contextlib.suppress(RunError, OSError):  # somebody took the stored run away
            for compared in await asyncio.to_thread(compare_answers, self._store, self._manifest.id, self._job.id):
                self._box.publish(compared)
        self._box.publish(
            facts.BenchEnded(
                host=self._box.name, job=self._job.id, run=clean(self._manifest.id), sentence=clean(self._said())
            )
        )

    async def _begin(self) -> None:
        """The run, in the store and as a fact; points that were stored before are told again."""
        told = self._manifest
        self._box.publish(
            facts.RunBegan(
                host=self._box.name,
                job=self._job.id,
                run=clean(told.id),
                recipe=clean(told.recipe),
                preset=clean(told.preset),
                planned=tuple(clean(str(name)) for name in self._job.meta["planned"]),
                manifest=msgspec.to_builtins(told),
            )
        )
        for point in await self._keeping.begin():
            self._publish_point(point)
        earlier = None
        with contextlib.suppress(OSError):  # there is no ghost without a directory of runs
            earlier = await asyncio.to_thread(self._earlier)
        if earlier is not None:
            points = tuple(msgspec.to_builtins(point) for point in earlier.points)
            manifest = msgspec.to_builtins(earlier.manifest)
            self._box.publish(
                facts.EarlierRunFound(host=self._box.name, job=self._job.id, manifest=manifest, points=points)
            )

    def _earlier(self) -> Run | None:
        """The best run of the same question on this box."""
        wanted = comparable_hash(self._manifest.setup)
        rates = {
            run.id: (rate, run)
            for run in self._store.runs()
            if run.id != self._manifest.id
            and run.manifest.host == self._box.name
            and comparable_hash(run.manifest.setup) == wanted
            and known(rate := run.best_tok_s)
        }
        return max(rates.values(), key=lambda pair: pair[0], default=(0.0, None))[1]

    async def _read_lines(self, path: str) -> None:
        """Lines until the worker's last one, or, when the job is gone without it, all that the file has."""
        reading = jobs.lines(self._box, path)
        step = asyncio.ensure_future(anext(reading))
        try:
            while True:
                done, _ = await asyncio.wait([step], timeout=1.0)
                if done:
                    if await self._take(step.result()):
                        return
                    step = asyncio.ensure_future(anext(reading))
                elif self._gone():
                    break
                await self._keeping.catch_up(self._fetched)
        finally:
            step.cancel()
            await asyncio.gather(step, return_exceptions=True)
        for line in (await jobs.lines_so_far(self._box, path))[len(self._lines) :]:
            if await self._take(line):
                return

    async def _take(self, line: bytes) -> bool:
        """Keep a line; True for the worker's last."""
        self._lines.append(line.decode("utf-8", "replace"))
        return await self._line(self._lines[-1])

    def _gone(self) -> bool:
        found = self._host.jobs.jobs
        now = next((job for job in found if job.id == self._job.id), None) if known(found) else None
        return now is not None and now.state not in LIVE

    def _said(self) -> str:
        left = [str(name) for name in self._job.meta["planned"] if name not in self._measured]
        return self._sentence or (
            f"{len(left)} of {len(self._job.meta['planned'])} points were not measured" * bool(left)
        )

    async def _line(self, text: str) -> bool:
        """One line of the worker; True for its last."""
        try:
            row = clean_tree(strict_json(text))
            return await self._row(row["k"], row)
        except MALFORMED:
            return False

    async def _row(self, kind: str, row: dict[str, Any]) -> bool:
        if kind == "start":
            self._begun_m = row["m"]
        elif kind == "state":
            self._step(row)
        elif kind == "tick":
            self._box.publish(tick(self._box.name, self._job.id, row, self._begun_m))
        elif kind == "calibration":
            self._calibrated(row)
        elif kind == "point":
            await self._point(str(row["name"]), str(row.get("error") or ""))
        self._sentence = str(row.get("error") or self._sentence) if kind == "end" else self._sentence
        return bool(kind == "end")

    def _step(self, row: dict[str, Any]) -> None:
        self._box.publish(
            facts.BenchStepReached(
                host=self._box.name,
                job=self._job.id,
                point=clean(row["point"]),
                step=row["state"],
                elapsed_s=row["m"] - self._begun_m,
            )
        )

    def _calibrated(self, row: dict[str, Any]) -> None:
        self._box.publish(
            facts.BenchCalibrated(
                host=self._box.name,
                job=self._job.id,
                events_s=row["events_per_s"],
                cpu_ratio=row["cpu"],
                lag_p99_s=_or(row["loop_lag_p99_s"]),
            )
        )

    async def _point(self, name: str, error: str) -> None:
        """Fetch, measure and store a point that is not stored yet."""
        if error:
            self._fail(name, error)
        if name in self._measured or (error and "server went away" not in error):
            return
        fetched = await self._fetched(name)
        if fetched is not None:
            self._publish_point(fetched.point)
            await self._keeping.add(fetched)

    async def _fetched(self, name: str) -> Fetched | None:
        """A point from the worker's files; None, told as a failure, when they cannot be read."""
        folder = f"{self._job.directory}/points/{name}"
        try:
            result, packed = await fetch(self._box, f"{folder}.json"), await fetch(self._box, f"{folder}.ndjson.gz")
            return await asyncio.to_thread(self._read, name, result, packed)
        except (AgentError, OSError, EOFError, *MALFORMED) as problem:
            self._fail(name, f"its files cannot be read: {problem}")
            return None

    def _read(self, name: str, result: bytes, packed: bytes) -> Fetched:
        """Runs in a thread: a point of a minute at full rate takes seconds."""
        body = clean_tree(strict_json(result))
        lines = gunzip(packed, MAX_REQUESTS_BYTES).splitlines()
        point = measure(body, read_requests(lines, self._context.ignore_eos), self._context)
        info = json.dumps(body["server_before"]["info"], indent=1).encode()
        return Fetched(point, {f"{name}.json": result, f"{name}.ndjson.gz": packed, "server_info.json": info})

    def _blocked(self, reason: str, waiting: int) -> None:
        """The store refused, or takes again."""
        host, job, run = self._box.name, self._job.id, clean(self._manifest.id)
        if reason:
            self._box.publish(facts.StoringFailed(host=host, job=job, run=run, reason=clean(reason), waiting=waiting))
        else:
            self._box.publish(facts.StoringResumed(host=host, job=job, run=run))

    def _fail(self, name: str, sentence: str) -> None:
        run = clean(self._manifest.id)
        self._box.publish(
            facts.PointFailed(
                host=self._box.name, job=self._job.id, run=run, name=clean(name), sentence=clean(sentence)
            )
        )

    def _publish_point(self, point: Point) -> None:
        self._measured.add(point.name)
        run = clean(self._manifest.id)
        builtins = msgspec.to_builtins(point)
        self._box.publish(facts.PointMeasured(host=self._box.name, job=self._job.id, run=run, point=builtins))


def readable(job: Job) -> bool:
    """The job's record holds what a run needs; a job of another version may not."""
    try:
        manifest = msgspec.convert(job.meta["manifest"], Manifest)
        msgspec.convert(job.meta["context"], Context)
        return manifest.id == job.meta["run"] and isinstance(job.meta["planned"], list)
    except MALFORMED:
        return False


async def fetch(box: Box, path: str) -> bytes:
    """A whole file of the box. Raises AgentError."""
    pieces: list[bytes] = []
    size = 0
    while size < MAX_FILE_BYTES:
        read = await box.agent.request("read", path=path, offset=size, max_bytes=CHUNK_BYTES)
        data = base64.b64decode(read["data"])
        pieces.append(data)
        size += len(data)
        if not data or size >= read["size"]:
            break
    return b"".join(pieces)


def tick(host: str, job: CleanText, row: dict[str, Any], begun_m: float) -> facts.BenchTicked:
    """A progress line as a fact."""
    server = row["server"] or {}
    watts = row["power_w"]
    return facts.BenchTicked(
        host=host,
        job=job,
        point=clean(row["point"]),
        concurrency=row["concurrency"],
        elapsed_s=row["m"] - begun_m,
        active=row["active"],
        queued=row["queued"],
        done=row["done"],
        failed=row["failed"],
        tok_s=row["tok_s"],
        ttft_s=_or(row["ttft_s"]),
        lag_p99_s=_or(row["lag_s"]),
        cpu_ratio=row["cpu"],
        server_running=_or(server.get("num_running_reqs")),
        server_queued=_or(server.get("num_queue_reqs")),
        gen_tok_s=_or(server.get("gen_throughput")),
        kv_ratio=_or(server.get("token_usage")),
        power_w=sum(watts) if watts and None not in watts else Unknown("the power is not known of every GPU"),
    )


def _or(value: Any) -> Any:
    return Unknown("not told") if value is None else value
