"""The agent's verdict about a job follows from evidence alone, and the laptop takes it as it is."""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from console.agent import jobs
from console.agent.jobs import Evidence, Jobs, judged
from console.events.jobs import Job, JobsSampled
from console.values import Unknown, clean_tree, known
from console.views.jobs import detail, ended, state_word, succeeded
from console.workers.samples import fact_of
from tests.support.jobbox import JobBox, drained, kill, logged, record, until

EXITED = {"code": 0, "signal": None, "ended_s": 1.0}
KILLED = {"code": None, "signal": 9, "ended_s": 1.0}

CASES = [
    (Evidence(None, None, True, True, True), "running"),
    (Evidence(None, None, True, True, False), "draining"),
    (Evidence(EXITED, None, True, True, False), "draining"),
    (Evidence(EXITED, {}, True, True, False), "exited"),
    (Evidence(KILLED, {}, True, False, False), "signalled"),
    (Evidence(EXITED, None, True, False, False), "exited"),
    (Evidence(EXITED, None, False, False, False), "exited"),
    (Evidence(None, None, False, False, False), "lost_reboot"),
    (Evidence(None, None, False, True, True), "lost_reboot"),
    (Evidence(None, None, True, False, False), "lost_unknown"),
    (Evidence(None, None, True, False, True), "lost_unknown"),
    (Evidence(None, {}, True, False, False), "lost_unknown"),
]


@pytest.mark.parametrize(("evidence", "state"), CASES)
def test_the_state_follows_from_the_evidence(evidence: Evidence, state: str) -> None:
    assert judged(evidence)["state"] == state


def test_without_exit_evidence_no_number_is_invented() -> None:
    for bits in itertools.product((True, False), repeat=3):
        verdict = judged(Evidence(None, None, *bits))
        for key in ("exit_code", "signal", "ended_s"):
            assert set(verdict[key]) == {"unknown"}


class Outlet:
    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []
        self.config: dict[str, Any] = {}

    @property
    def outlet(self) -> Outlet:
        return self

    def sample(self, kind: str, data: dict[str, Any]) -> None:
        self.sent.append((kind, data))


@pytest.fixture
def look(box: JobBox, monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[Job, ...]]:
    """One sample of a fresh probe, as the laptop gets it."""
    monkeypatch.setenv("XDG_STATE_HOME", box.env["XDG_STATE_HOME"])

    def sample() -> tuple[Job, ...]:
        agent = Outlet()
        Jobs(agent).sample()
        kind, data = agent.sent[0]
        fact = fact_of("box", kind, clean_tree(json.loads(json.dumps(data))))
        assert isinstance(fact, JobsSampled)
        assert known(fact.jobs)
        return fact.jobs

    return sample


def test_jobs_from_start_to_end(box: JobBox, look: Callable[[], tuple[Job, ...]]) -> None:
    assert look() == ()
    job = box.run("sleep", "600", meta={"port": 30000})
    (seen,) = look()
    assert (seen.id, seen.state, seen.pid, seen.by) == (job.name, "running", record(job)["pid"], "me@laptop")
    assert seen.exit_code == Unknown("still runs")
    assert seen.meta == {"port": 30000}
    assert state_word(seen) == ("busy", "running")
    box.call("pause", id=job.name, by="x")
    assert state_word(look()[0]) == ("warn", "paused")
    box.stop(job, 5)
    drained(job)
    (seen,) = look()
    assert (seen.state, seen.signal, seen.exit_code, seen.paused) == ("signalled", 15, None, False)
    assert state_word(seen) == ("off", "stopped")
    assert detail(seen) == "stopped by me@laptop"
    assert ended(seen)
    assert not succeeded(seen)


def test_running_jobs_come_first_then_the_youngest(box: JobBox, look: Callable[[], tuple[Job, ...]]) -> None:
    runs, first, second = box.run("sleep", "600"), box.run("true"), box.run("false")
    drained(first), drained(second)
    assert [job.id for job in look()] == [runs.name, second.name, first.name]
    assert [succeeded(job) for job in look()] == [False, False, True]


def test_a_reboot_loses_a_running_job_and_keeps_an_ended_one(box: JobBox, look: Callable[[], tuple[Job, ...]]) -> None:
    runs, done = box.run("sleep", "600"), box.run("true")
    drained(done)
    real = {job: record(job) for job in (runs, done)}
    for job, data in real.items():
        (job / "job.json").write_text(json.dumps(data | {"boot_id": "of the boot before"}))
    states = {job.id: job.state for job in look()}
    assert states == {runs.name: "lost_reboot", done.name: "exited"}
    assert box.stop(runs, 0) == {"stopping": False, "pids": []}, "these processes are proved no more"
    (runs / "job.json").write_text(json.dumps(real[runs]))


def test_a_boot_that_cannot_be_read_is_no_reboot(
    box: JobBox, look: Callable[[], tuple[Job, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = box.run("sleep", "600")
    monkeypatch.setattr(jobs, "BOOT_ID", "/proc/none")
    assert look()[0].state == "running"
    box.stop(job, 0)
    drained(job)
    assert look()[0].state == "signalled"


def test_a_killed_runner_is_lost_and_says_whether_the_job_goes_on(
    box: JobBox, look: Callable[[], tuple[Job, ...]]
) -> None:
    job = box.run("sleep", "600")
    kill(record(job)["runner_pid"])
    (seen,) = look()
    assert (seen.state, seen.reason) == ("lost_unknown", "the runner was killed; the main process still runs")
    kill(record(job)["pid"])
    (seen,) = look()
    assert "left no record" in seen.reason
    assert state_word(seen) == ("fail", "lost")


def test_draining_is_told_while_children_live(box: JobBox, look: Callable[[], tuple[Job, ...]]) -> None:
    job = box.program("import os, time\nif os.fork() == 0: time.sleep(600)\nprint('out', flush=True)")
    logged(job, "out")
    until(lambda: look()[0].exit_code == 0, "the exit")
    (seen,) = look()
    assert seen.state == "draining"
    assert succeeded(seen)


def test_one_probe_tells_a_job_that_drained_again(box: JobBox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", box.env["XDG_STATE_HOME"])
    agent = Outlet()
    probe = Jobs(agent)

    def state() -> str:
        probe.sample()
        return next((job["state"] for job in agent.sent[-1][1]["jobs"]), "")

    job = box.program("import os, time\nif os.fork() == 0: time.sleep(600)\nprint('out', flush=True)")
    until((job / "exit.json").exists, "the exit of the main process")
    assert state() == "draining"
    box.stop(job, 0)
    drained(job)
    assert state() == "exited"


SPOILED: list[str | None] = [
    None, "", "{", "[]", "{}", '{"id": "another"}', '{"id": "spoiled-6"}', '{"id": "spoiled-7", "pid": "x", "argv": 3}',
]  # fmt: skip


def test_a_spoiled_record_hides_no_other_job(box: JobBox, look: Callable[[], tuple[Job, ...]]) -> None:
    job = box.run("sleep", "600")
    for number, text in enumerate(SPOILED):
        (box.root / f"spoiled-{number}").mkdir()
        if text is not None:
            (box.root / f"spoiled-{number}" / "job.json").write_text(text)
    for name in ("kind", "meta", "argv", "unit", "created_s"):
        (box.root / f"without-{name}").mkdir()
        spoiled = {**record(job), "id": f"without-{name}", name: 3.5 if name in ("kind", "argv", "unit") else "x"}
        (box.root / f"without-{name}" / "job.json").write_text(json.dumps(spoiled))
    (box.root / "file").touch()
    assert [each.id for each in look()] == [job.name]
    assert box.start("true", key=record(job)["key"])["refused"] == "exists"
    assert "job" in box.start("true")
    for place in box.root.glob("*"):
        if place.name.startswith(("spoiled", "without")):
            (place / "job.json").unlink(missing_ok=True)


def test_hostile_words_of_a_job_reach_the_laptop_clean(box: JobBox, look: Callable[[], tuple[Job, ...]]) -> None:
    job = box.run("sleep", "600", "\x1b]0;pwned\x07", meta={"\x1b[31m": "\x1b[2Jx"})
    seen = next(each for each in look() if each.id == job.name)
    assert "\x1b" not in repr(seen)
    assert seen.meta == {"": "x"}


def test_nothing_new_is_not_sent_again(box: JobBox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", box.env["XDG_STATE_HOME"])
    agent = Outlet()
    probe = Jobs(agent)
    probe.sample()
    probe.sample()
    assert len(agent.sent) == 1
    job = box.run("true")
    drained(job)
    probe.sample()
    assert len(agent.sent) == 2
    os.rename(job, Path(f"{job}-away"))
    probe.sample()
    assert agent.sent[2][1]["jobs"] == []
    os.rename(Path(f"{job}-away"), job)


def test_a_folder_that_cannot_be_read_is_unknown_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    (tmp_path / "gpudeck").mkdir()
    (tmp_path / "gpudeck" / "jobs").write_text("a file")
    agent = Outlet()
    Jobs(agent).sample()
    fact = fact_of("box", *agent.sent[0])
    assert isinstance(fact, JobsSampled)
    assert isinstance(fact.jobs, Unknown)
    assert "Not a directory" in fact.jobs.reason
