"""What `wait HOST ready` decides: only a proof is ready, and only what can no more become ready has failed."""

from __future__ import annotations

from typing import Any

import pytest

from console.cli.wait import ready
from console.events import Event
from console.events.jobs import JobsSampled
from console.events.serve import Server, ServerEnded, ServerPhaseReached, ServerProved, ServersSampled, ServerUnproved
from console.values import CleanText, Unknown
from tests.support.job_facts import job
from tests.support.played import PlayedSession, link_up

ID = CleanText("serve-1")


def servers(*found: Server) -> ServersSampled:
    return ServersSampled(host="ct200", servers=found)


def server(**fields: Any) -> Server:
    nothing, unknown = CleanText(""), Unknown("not asked")
    values: dict[str, Any] = {
        "id": ID, "pid": 4711, "start": 1, "started_s": 1000.0, "boot_id": nothing, "owner": "ours", "job": ID,
        "user": unknown, "argv": (), "cwd": unknown, "unit": nothing, "unit_scope": nothing, "container": nothing,
        "log_path": unknown, "processes": (), "address": CleanText("127.0.0.1"), "port": 30000, "listening": unknown,
    }  # fmt: skip
    return Server(**(values | fields))


def jobs(**fields: Any) -> JobsSampled:
    return JobsSampled(host="ct200", jobs=(job(ID, kind=CleanText("serve"), **fields),), older=0, now_s=1.0)


def phase(name: Any) -> Event:
    return ServerPhaseReached(host="ct200", server=ID, phase=name)


def crashed() -> Event:
    return ServerEnded(
        host="ct200", server=ID, phase="crashed", kind=CleanText("oom"), cause=CleanText("CUDA out of memory"),
        cause_phase="weights", advice=(), exit_code=1, signal=None,
    )  # fmt: skip


NO_JOBS = JobsSampled(host="ct200", jobs=(), older=0, now_s=1.0)
GONE = jobs(state="exited", exit_code=1, signal=None, ended_s=1001.0)
PROVED = [jobs(), servers(server()), phase("ready"), ServerProved(host="ct200", server=ID, by="/ready")]
CASES: dict[str, tuple[list[Event], int | None]] = {
    "not listed yet": ([NO_JOBS], None),
    "nothing runs": ([NO_JOBS, servers()], 1),
    "its job has just begun": ([jobs(), servers()], None),
    "loading": ([jobs(), servers(server()), phase("weights")], None),
    "proved": (PROVED, 0),
    "answers no more": ([*PROVED, ServerUnproved(host="ct200", server=ID, sentence=CleanText("timeout"))], None),
    "crashed": ([jobs(), servers(server()), phase("weights"), GONE, servers(), crashed()], 1),
}


@pytest.mark.parametrize("name", CASES)
def test_the_answer(name: str) -> None:
    events, code = CASES[name]
    answer = ready(PlayedSession(*link_up(), *events, hosts=["ct200"]).state.hosts["ct200"])
    assert (answer[0] if answer else None) == code
    if name == "crashed":
        assert answer == (1, "serve-1 crashed: CUDA out of memory.")
