"""Stopping on real trees, and what happens when parts are killed: nothing of ours stays, nobody else is touched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.jobbox import STUBBORN, JobBox, alive, drained, ended, kill, logged, record, until


def tree(directory: Path) -> dict[str, int]:
    for name in ("session", "double", "bare", "main"):
        text = logged(directory, name)
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines()}


def test_the_whole_tree_goes(box: JobBox) -> None:
    job = box.program(STUBBORN)
    pids = tree(job)
    answer = box.stop(job, grace_s=1)
    assert set(pids.values()) <= set(answer["pids"])
    assert drained(job)["stopped_by"] == "me@laptop"
    assert not any(alive(pid) for pid in pids.values())
    assert (ended(job)["signal"], ended(job)["stopped_by"]) == (15, "me@laptop")


def test_the_main_process_has_its_grace_and_hears_term_alone(box: JobBox) -> None:
    job = box.program(
        "import os, signal, sys, time\n"
        "if os.fork() == 0:\n"
        "    signal.signal(signal.SIGTERM, lambda *_: (print('child heard', flush=True), os._exit(0)))\n"
        "    print('child', flush=True); time.sleep(600)\n"
        "def orderly(*_):\n"
        "    time.sleep(0.5); print('saved', flush=True); sys.exit(5)\n"
        "signal.signal(signal.SIGTERM, orderly); print('main', flush=True); time.sleep(600)\n"
    )
    logged(job, "child\n")
    logged(job, "main")
    box.stop(job, grace_s=20)
    drained(job)
    assert ended(job)["code"] == 5
    text = logged(job, "saved")
    assert text.index("saved") < text.index("child heard")


def test_a_main_process_that_ignores_term_is_killed_after_the_grace(box: JobBox) -> None:
    job = box.program(
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(600)"
    )
    logged(job, "on")
    before = time.monotonic()
    box.stop(job, grace_s=0.5)
    drained(job)
    assert ended(job)["signal"] == 9
    assert time.monotonic() - before >= 1.0, "the grace, as much again for all, then the end"


def test_a_second_request_shortens_the_grace(box: JobBox) -> None:
    job = box.program(
        "import signal, time; signal.signal(15, signal.SIG_IGN); print('on', flush=True); time.sleep(600)"
    )
    logged(job, "on")
    box.stop(job, grace_s=600)
    box.stop(job, grace_s=0)
    assert drained(job)


def test_what_remains_of_an_ended_job_can_be_stopped(box: JobBox) -> None:
    job = box.program(
        "import os, time\nif os.fork() == 0:\n    os.setsid(); print(os.getpid(), flush=True); time.sleep(600)"
    )
    pid = int(logged(job, "\n"))
    assert ended(job)["code"] == 0
    assert not (job / "drained.json").exists(), "draining: the child still runs"
    box.stop(job)
    drained(job)
    assert not alive(pid)


def test_kill_9_of_the_main_process(box: JobBox) -> None:
    job = box.run("sleep", "60")
    kill(record(job)["pid"])
    assert (ended(job)["signal"], ended(job)["oom"], ended(job)["reason"]) == (9, None, None)
    assert drained(job)["stopped_by"] is None


def test_kill_9_of_the_runner_leaves_a_tree_that_can_be_stopped(box: JobBox) -> None:
    job = box.program(STUBBORN)
    pids = tree(job)
    kill(record(job)["runner_pid"])
    assert all(alive(pid) for pid in pids.values()), "the job itself goes on"
    assert "refused" in box.start("true", key=record(job)["key"])
    assert "can only be stopped" in box.call("pause", id=job.name, by="x")["error"]
    answer = box.stop(job, grace_s=0)
    assert set(pids.values()) <= set(answer["pids"])
    assert drained(job)["stopped_by"] == "me@laptop"
    assert not any(alive(pid) for pid in pids.values())
    assert not (job / "exit.json").exists(), "nobody knows how it ended, so nothing says it"


@pytest.mark.parametrize("change", [{"start_ticks": 1, "runner_start_ticks": 1}, {"boot_id": "another boot"}])
def test_a_foreign_process_with_the_recorded_pid_is_never_touched(box: JobBox, change: dict[str, object]) -> None:
    job = box.run("true")
    drained(job)
    (job / "drained.json").unlink()
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as bystander:
        fields = Path(f"/proc/{bystander.pid}/stat").read_text().rpartition(")")[2].split()
        forged = {**record(job), "pid": bystander.pid, "runner_pid": bystander.pid}
        forged |= {"start_ticks": int(fields[19]), "runner_start_ticks": int(fields[19])} | change
        (job / "job.json").write_text(json.dumps(forged))
        assert box.stop(job, 0) == {"stopping": False, "pids": []}
        assert bystander.poll() is None
        bystander.kill()
    (job / "drained.json").write_text("{}")


def test_stopping_what_has_ended_does_nothing(box: JobBox) -> None:
    job = box.run("true")
    drained(job)
    assert box.stop(job) == {"stopping": False, "pids": []}
    assert "there is no job" in box.call("stop", id="nothing-1", by="x")["error"]


def test_the_systems_own_term_stops_the_job_with_its_grace(box: JobBox) -> None:
    job = box.program(
        "import signal, time; signal.signal(15, lambda *_: exit(3)); print('on', flush=True); time.sleep(60)"
    )
    logged(job, "on")
    os.kill(record(job)["runner_pid"], 15)
    drained(job)
    assert (ended(job)["code"], ended(job)["stopped_by"]) == (3, "the system")


def ticks(directory: Path) -> int:
    return (directory / "log").read_text().count("tick")


TICKING = "while True: print('tick', flush=True); __import__('time').sleep(0.02)"


def test_pause_stops_the_tree_and_resume_lets_it_go_on(box: JobBox) -> None:
    job = box.program(f"import os; os.fork()\n{TICKING}")
    logged(job, "tick")
    assert box.call("pause", id=job.name, by="me@laptop") == {"paused": True, "mode": "signal"}
    pid = record(job)["pid"]
    until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T", "stopped")
    until(lambda: _still(job), "no more ticks")
    before = ticks(job)
    box.call("resume", id=job.name, by="me@laptop")
    until(lambda: ticks(job) > before + 4, "ticks after resume")


def _still(job: Path) -> bool:
    before = ticks(job)
    time.sleep(0.3)
    return ticks(job) == before


def test_a_paused_job_can_be_stopped(box: JobBox) -> None:
    job = box.run("sleep", "600")
    box.call("pause", id=job.name, by="me@laptop")
    box.stop(job, 5)
    drained(job)
    assert ended(job)["signal"] == 15


def test_a_job_that_pauses_itself_is_only_told(box: JobBox) -> None:
    job = box.program(TICKING, pause="file")
    logged(job, "tick")
    assert box.call("pause", id=job.name, by="me@laptop")["mode"] == "file"
    assert json.loads((job / "pause").read_text()) == {"by": "me@laptop"}
    before = ticks(job)
    until(lambda: ticks(job) > before + 10, "it goes on until it looks for the file itself")
    box.call("resume", id=job.name, by="me@laptop")
    assert not (job / "pause").exists()


def test_a_job_whose_folder_was_removed_still_stops_as_a_whole(box: JobBox) -> None:
    job = box.program(STUBBORN, grace_s=1)
    pids, runner = tree(job), record(job)["runner_pid"]
    shutil.rmtree(job)
    os.kill(runner, 15)
    until(lambda: not alive(pids["main"]), "the main process to end")
    until(lambda: not alive(runner), "the runner to end", limit_s=10)
    assert not any(alive(pid) for pid in pids.values())
