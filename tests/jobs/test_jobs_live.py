"""Jobs through a live session and a real agent of this machine: start, follow, lose the link, adopt, leave."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

from console.cli.follow import begin, box_of, follow
from console.cli.stop import GATE, INTERRUPTED, TIMED_OUT, StopError
from console.config import Config, HostConfig, Settings
from console.session.live import LiveSession
from console.session.picker import LOCAL
from console.session.ways import Ways
from console.values import known
from console.views.jobs import find_job, newest_job, succeeded
from console.workers import jobs
from console.workers.jobs import JobSpec
from tests.support.jobbox import JobBox, alive, drained, log, logged
from tests.support.patience import PATIENCE_S

COUNT = """
import json, os, sys, time
with open(os.environ["GPUDECK_JOB_DIR"] + "/progress.ndjson", "a") as file:
    for number in range(int(sys.argv[1])):
        print(json.dumps({"n": number}), file=file, flush=True)
        time.sleep(float(sys.argv[2]))
"""


def counting(number: int, every_s: float, key: str = "count", **more: Any) -> JobSpec:
    return JobSpec(kind="count", key=key, argv=(sys.executable, "-c", COUNT, str(number), str(every_s)), **more)


@asynccontextmanager
async def session_with(box: JobBox) -> AsyncIterator[LiveSession]:
    host = HostConfig(name=LOCAL, ssh=LOCAL, env={"XDG_STATE_HOME": box.env["XDG_STATE_HOME"]})
    config = Config(settings=Settings(), hosts={LOCAL: host}, origins={})
    async with AsyncExitStack() as resources, LiveSession(Ways(config, None, None, resources)) as session:
        session.add(host)
        session.start()
        assert await session.wait(lambda state: known(state.hosts[LOCAL].jobs.seen_t), PATIENCE_S)
        yield session


@pytest.fixture(autouse=True)
def own_state(monkeypatch: pytest.MonkeyPatch, box: JobBox) -> None:
    """What the session remembers of boxes goes beside the box."""
    monkeypatch.setenv("XDG_STATE_HOME", box.env["XDG_STATE_HOME"])


async def test_a_job_is_started_followed_and_ends(box: JobBox) -> None:
    seen: list[int] = []
    async with session_with(box) as session:
        started, new = await begin(session, LOCAL, counting(5, 0.05, meta={"port": 1}))
        job = await follow(session, LOCAL, started, lambda line: seen.append(line["n"]), 20)
    assert new
    assert seen == [0, 1, 2, 3, 4]
    assert succeeded(job)
    assert (job.meta, job.by) == ({"port": 1}, jobs.user_at_laptop())


async def test_an_agent_that_dies_changes_nothing_and_no_line_comes_twice(box: JobBox) -> None:
    seen: list[int] = []
    async with session_with(box) as session:
        started, _ = await begin(session, LOCAL, counting(25, 0.1))

        def show(line: dict[str, Any]) -> None:
            seen.append(line["n"])
            if line["n"] == 5:
                os.kill(box_of(session, LOCAL).agent.hello["pid"], signal.SIGKILL)

        job = await follow(session, LOCAL, started, show, 30)
    assert seen == list(range(25))
    assert succeeded(job)


async def test_a_new_console_adopts_what_an_old_one_started(box: JobBox) -> None:
    async with session_with(box) as session:
        started, _ = await begin(session, LOCAL, counting(600, 0.1))
    assert alive(started.pid)
    async with session_with(box) as session:
        job = newest_job(session.state.hosts[LOCAL])
        assert job is not None
        assert (job.id, job.state, job.pid) == (started.id, "running", started.pid)
        assert await jobs.stop(session.links[LOCAL].box, job.id, 5)  # type: ignore[arg-type]
        assert await session.wait(lambda state: _state(state, started.id) == "signalled", PATIENCE_S)
    drained(box.root / started.id)


def _state(state: Any, job_id: str) -> str:
    job = find_job(state.hosts[LOCAL], job_id)
    return job.state if job else ""


async def test_cancelling_detaches_and_says_that_the_job_goes_on(box: JobBox) -> None:
    heard = asyncio.Event()
    async with session_with(box) as session:
        started, _ = await begin(session, LOCAL, counting(600, 0.1))
        following = asyncio.create_task(follow(session, LOCAL, started, lambda _: heard.set(), None))
        await asyncio.wait_for(heard.wait(), 10)
        following.cancel()
        with pytest.raises(StopError, match=f"goes on: `gpudeck jobs local show {started.id}`") as left:
            await following
    assert left.value.exit_code == INTERRUPTED
    assert alive(started.pid)


async def test_a_follower_with_a_timeout_leaves_the_job_running(box: JobBox) -> None:
    async with session_with(box) as session:
        started, _ = await begin(session, LOCAL, counting(600, 0.1))
        with pytest.raises(StopError, match="goes on") as late:
            await follow(session, LOCAL, started, lambda _: None, 0.3)
    assert late.value.exit_code == TIMED_OUT
    assert alive(started.pid)


async def test_a_second_one_follows_ours_and_is_refused_to_others(box: JobBox, monkeypatch: pytest.MonkeyPatch) -> None:
    async with session_with(box) as session:
        first, _ = await begin(session, LOCAL, counting(600, 0.1, key="/models/x"))
        assert await begin(session, LOCAL, counting(1, 0, key="/models/x")) == (first, False)
        owner = jobs.user_at_laptop()
        monkeypatch.setattr(jobs, "user_at_laptop", lambda: "you@elsewhere")
        with pytest.raises(StopError, match=f"started by {owner} .job {first.id}") as refused:
            await begin(session, LOCAL, counting(1, 0, key="/models/x"))
    assert refused.value.exit_code == GATE


async def test_starting_the_same_id_again_after_a_lost_answer_gives_the_job(box: JobBox) -> None:
    async with session_with(box) as session:
        connected = box_of(session, LOCAL)
        first = await jobs.start(connected, counting(600, 0.1), "count-1")
        assert await jobs.start(connected, counting(600, 0.1), "count-1") == first


async def test_one_of_our_programs_runs_as_a_job_and_long_input_arrives_whole(box: JobBox) -> None:
    argv, stdin = jobs.python_program(
        sys.executable, "console.payloads.runner", {"op": "prune", "all": False, "dry_run": True}
    )
    text = os.urandom(700_000)
    count = "import sys, hashlib; print(hashlib.sha256(sys.stdin.buffer.read()).hexdigest())"
    async with session_with(box) as session:
        connected = box_of(session, LOCAL)
        ours = await jobs.start(connected, JobSpec(kind="ours", key="a", argv=argv, stdin=stdin))
        long = await jobs.start(
            connected, JobSpec(kind="long", key="b", argv=(sys.executable, "-c", count), stdin=text)
        )  # fmt: skip
    assert '"removed"' in logged(box.root / ours.id, "\n")
    import hashlib

    assert logged(box.root / long.id, "\n").strip() == hashlib.sha256(text).hexdigest()


async def test_what_the_box_refuses_is_one_sentence(box: JobBox) -> None:
    async with session_with(box) as session:
        connected = box_of(session, LOCAL)
        with pytest.raises(jobs.JobError, match="there is no job none-1"):
            await jobs.stop(connected, "none-1")
        with pytest.raises(jobs.JobError, match="must not be an argument"):
            await jobs.start(
                connected, JobSpec(kind="k", key="k", argv=("x", "canary-secret"), secret_env={"A": "canary-secret"})
            )


async def test_pause_and_resume_through_the_session(box: JobBox) -> None:
    async with session_with(box) as session:
        started, _ = await begin(session, LOCAL, counting(600, 0.05))
        connected = box_of(session, LOCAL)
        await jobs.pause(connected, started.id)
        assert await session.wait(lambda state: find_job(state.hosts[LOCAL], started.id).paused, PATIENCE_S)  # type: ignore[union-attr]
        await jobs.resume(connected, started.id)
        assert await session.wait(lambda state: not find_job(state.hosts[LOCAL], started.id).paused, PATIENCE_S)  # type: ignore[union-attr]
        await jobs.stop(connected, started.id, 0)
    drained(box.root / started.id)
    assert log(box.root / started.id) == ""


async def test_the_last_words_come_however_slow_the_link_is(box: JobBox, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a job writes is told once it has ended, though nothing of it came before."""

    async def silent(*_: Any) -> AsyncIterator[dict[str, Any]]:
        await asyncio.Event().wait()
        yield {}

    monkeypatch.setattr(jobs, "progress", silent)
    seen: list[int] = []
    async with session_with(box) as session:
        started, _ = await begin(session, LOCAL, counting(5, 0.01))
        await follow(session, LOCAL, started, lambda line: seen.append(line["n"]), 20)
    assert seen == [0, 1, 2, 3, 4]
