"""What the watch makes of a box whose files are damaged: a sentence, never an end of the session."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from console.bench.points import Context
from console.bench.store import Manifest, RunStore
from console.events import Event
from console.events import bench as facts
from console.events.jobs import Job, JobsSampled
from console.remote.errors import AgentError
from console.state import HostState
from console.state.reduce import HOST_REDUCERS
from console.values import CleanText
from console.workers.bench_watch import Following, readable
from console.workers.box import Box

RUN = "run-1"


def a_job(**meta: Any) -> Job:
    told = {
        "run": RUN,
        "planned": ["c0001-r0"],
        "manifest": msgspec.to_builtins(Manifest(id=RUN, created="2026-11-30T00:00:00Z", recipe="r")),
        "context": msgspec.to_builtins(Context()),
        **meta,
    }
    none = CleanText("")
    return Job(
        id=CleanText("bench-1"), kind=CleanText("bench"), key=none, by=none, argv=(), meta=told,
        directory=CleanText("/jobs/bench-1"), pid=1, unit=none, grace_s=1.0, started=none, created_s=0.0,
        state="exited", reason=none, paused=False, exit_code=0, signal=None, ended_s=1.0, oom=none, oom_kills=0,
        stopped_by=none,
    )  # fmt: skip


class Stream:
    """The tail of one file: what it holds, then silence."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    async def __aenter__(self) -> Stream:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None

    async def __aiter__(self) -> Any:
        yield {"offset": 0, "inode": 1, "data": base64.b64encode(self._data).decode(), "event": None}


class Files:
    """An agent that has these files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        self.files, self.hello = files, {}

    def stream(self, _op: str, *, path: str, **_: Any) -> Stream:
        return Stream(self.files[path])

    async def request(self, _op: str, *, path: str, offset: int, max_bytes: int) -> dict[str, Any]:
        if path not in self.files:
            raise AgentError("not_found", f"{path} is not there")
        data = self.files[path]
        return {"data": base64.b64encode(data[offset : offset + max_bytes]).decode(), "size": len(data)}


async def followed(tmp_path: Path, files: dict[str, bytes]) -> list[Event]:
    told: list[Event] = []
    host = HostState("ct200")
    job = a_job()

    def publish(event: Any) -> None:
        told.append(event)
        HOST_REDUCERS[type(event)][1](host, event, 0.0)

    publish(JobsSampled(host="ct200", jobs=(job,), older=0, now_s=1.0))
    agent: Any = Files({f"/jobs/bench-1/{name}": data for name, data in files.items()})
    config: Any = None
    await Following(Box("ct200", agent, publish, config), host, RunStore(tmp_path), job).run()
    return told


def line(**row: Any) -> bytes:
    return json.dumps(row).encode() + b"\n"


POINT = line(k="point", name="c0001-r0", error="")
END = line(k="end", rc=0)
DAMAGED: dict[str, dict[str, bytes]] = {
    "no files": {},
    "no json": {"points/c0001-r0.json": b"{", "points/c0001-r0.ndjson.gz": gzip.compress(b"")},
    "no gzip": {"points/c0001-r0.json": b"{}", "points/c0001-r0.ndjson.gz": b"plain"},
    "cut gzip": {"points/c0001-r0.json": b"{}", "points/c0001-r0.ndjson.gz": gzip.compress(b"x" * 999)[:20]},
    "fields missing": {"points/c0001-r0.json": b"{}", "points/c0001-r0.ndjson.gz": gzip.compress(b'{"i":1}\n')},
}


@pytest.mark.parametrize("case", DAMAGED)
async def test_a_damaged_point_is_a_failed_point(tmp_path: Path, case: str) -> None:
    told = await followed(tmp_path, {"progress.ndjson": POINT + END, **DAMAGED[case]})
    failed = [event for event in told if isinstance(event, facts.PointFailed)]
    assert len(failed) == 1
    assert failed[0].sentence.startswith("its files cannot be read")
    ended = told[-1]
    assert isinstance(ended, facts.BenchEnded)
    assert ended.sentence == "1 of 1 points were not measured"
    assert RunStore(tmp_path).load(RUN).points == ()


async def test_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    rows = b'nonsense\n{"k": "tick"}\n{"k": "state", "point": 3}\n[]\n' + line(k="end", rc=75, error="busy")
    told = await followed(tmp_path, {"progress.ndjson": rows})
    ended = told[-1]
    assert isinstance(ended, facts.BenchEnded)
    assert ended.sentence == "busy"


def test_a_job_of_another_version_is_left_alone() -> None:
    assert readable(a_job())
    assert not readable(a_job(manifest={"id": 3}))
    assert not readable(a_job(manifest=msgspec.to_builtins(Manifest(id="other", created=""))))
    assert not readable(a_job(planned="c0001-r0"))
