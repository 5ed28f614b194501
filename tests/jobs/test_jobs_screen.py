"""Screen 8: the jobs of the box, what stands behind one, and its two keys."""

from __future__ import annotations

from typing import Any

import pytest

from console.app import ConsoleApp
from console.events.jobs import Job, JobRequestFailed, JobsSampled
from console.state import HostState
from console.values import CleanText, Unknown
from console.views.jobs import job_lines, job_rows, jobs_value
from tests.support.frames import frame
from tests.support.job_facts import job
from tests.support.played import PlayedSession, disks, gpus, link_up


def ended(job_id: str, state: str, code: int | None, number: int | None = None, **fields: Any) -> Job:
    return job(job_id, state=state, exit_code=code, signal=number, ended_s=1060.0, **fields)


JOBS = (
    job("download-1"),
    ended("serve-1", "exited", 0),
    ended("serve-2", "exited", 127, reason=CleanText("sglang: No such file or directory")),
    ended("serve-3", "signalled", None, 9, oom=CleanText("memory.events: oom_kill 0 → 1")),
    ended("bench-1", "signalled", None, 15, stopped_by=CleanText("you@desktop")),
    job("bench-2", state="lost_reboot", reason=CleanText("the box was started again while it ran")),
)


def sampled(*jobs: Job) -> JobsSampled:
    return JobsSampled(host="ct200", jobs=jobs or JOBS, older=2, now_s=1125.0)


def session(*jobs: Job) -> PlayedSession:
    return PlayedSession(*link_up(), *gpus(), *disks(), sampled(*jobs), hosts=["ct200"])


def test_each_end_has_its_word_and_its_duration() -> None:
    rows = job_rows(session().state.hosts["ct200"], 0.0)
    assert [(row.kind, row.word, row.age) for row in rows] == [
        ("busy", "running", "2 min 5 s"),
        ("ok", "done", "1 min"),
        ("fail", "exit 127", "1 min"),
        ("fail", "out of memory", "1 min"),
        ("off", "stopped", "1 min"),
        ("fail", "lost: reboot", "unknown"),
    ]
    assert rows[3].detail == "killed for memory: memory.events: oom_kill 0 → 1"


def test_unknown_jobs_are_not_no_jobs() -> None:
    host = HostState("ct200")
    assert jobs_value(host) == Unknown("not sampled yet")
    assert job_lines(host, 0.0) == ["Jobs  unknown: not sampled yet"]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_the_screen_lists_them_and_shows_the_one_under_the_cursor(size: tuple[int, int]) -> None:
    played = session()
    app = ConsoleApp(played)
    async with app.run_test(size=size) as pilot:
        await pilot.press("8")
        await pilot.pause()
        shown = frame(app)
        for word in ("Jobs", "running", "done", "exit 127", "out of memory", "stopped", "lost: reboot", "2 min 5 s"):
            assert word in shown
        assert "download-1: running" in shown
        await pilot.press("tab", "down", "down")
        await pilot.pause()
        assert "serve-2: exit 127, sglang: No such file" in frame(app)


async def test_space_pauses_and_resumes_and_x_asks_first() -> None:
    played = session()
    app = ConsoleApp(played)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("8", "space")
        await pilot.pause()
        assert "gpudeck jobs ct200 pause download-1" in frame(app)
        await pilot.press("enter")
        await pilot.press("space")
        await pilot.pause()
        assert not {"pause"} & {one[0] for one in played.controls.asked}, "no is the default"
        await pilot.click("#yes")
        played.tell(sampled(job("download-1", paused=True)))
        await pilot.press("space")
        await pilot.pause()
        await pilot.click("#yes")
        await pilot.press("X")
        await pilot.pause()
        assert "Stop a job" in frame(app)
        assert "gpudeck jobs ct200 stop download-1" in frame(app)
        await pilot.press("escape")
        assert played.controls.asked[-1] == ("resume", "download-1"), "esc leaves nothing changed"
        await pilot.press("X")
        await pilot.pause()
        await pilot.click("#yes")
        await pilot.pause()
    asked = [one for one in played.controls.asked if one[1] == "download-1"]
    assert asked == [("pause", "download-1"), ("resume", "download-1"), ("stop", "download-1")]


async def test_keys_without_a_job_that_lives_do_nothing() -> None:
    played = session(ended("serve-1", "exited", 0))
    app = ConsoleApp(played)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("X")
        await pilot.press("8", "space", "X")
        await pilot.pause()
        assert "Stop a job" not in frame(app)
    assert not {"pause", "stop"} & {one[0] for one in played.controls.asked}


async def test_read_only_takes_both_keys_away() -> None:
    played = session()
    played.read_only = True
    app = ConsoleApp(played)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("8", "space", "X")
        await pilot.pause()
        assert "Stop a job" not in frame(app)
    assert not {"pause", "stop"} & {one[0] for one in played.controls.asked}


async def test_what_the_box_refused_is_shown_at_the_job() -> None:
    played = session()
    reason = CleanText("the runner of download-1 is gone: it can only be stopped")
    played.tell(JobRequestFailed(host="ct200", job=CleanText("download-1"), action="pause", reason=reason))
    app = ConsoleApp(played)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("8")
        await pilot.pause()
        assert "pause refused: the runner of download-1 is gone" in frame(app)
