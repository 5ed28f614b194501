"""Requests to a running job are files in its folder; a signal wakes its runner. A job without one is stopped by us."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from . import folder, tree
from .evidence import live, read_job, runner_lives
from .identity import alive, process, send
from .start import forget_parent
from .stopping import Stop

_STEP_S = 0.1


def stop(request: dict[str, Any]) -> dict[str, Any]:
    """`id`, `by`, `grace_s` (None: the job's own). Answers at once: {stopping, pids}; nothing when nothing lives."""
    directory, job = _job(request)
    if not live(job):
        return {"stopping": False, "pids": []}
    asked = {"by": request["by"], "grace_s": job["grace_s"] if request.get("grace_s") is None else request["grace_s"]}
    if runner_lives(job):
        members = tree.descendants(job["runner_pid"])
        folder.fill(directory, folder.STOP, asked)
        _wake(job, signal.SIGTERM)
    else:
        members = tree.orphans(job["id"], job["pid"], job["start_ticks"])
        _stop_orphans(directory, job, asked)
    return {"stopping": True, "pids": tree.pids(members)}


def pause(request: dict[str, Any]) -> dict[str, Any]:
    """The runner stops the tree, or the job itself looks for the file `pause` (its `pause` is "file")."""
    directory, job = _running(request)
    folder.fill(directory, folder.PAUSE, {"by": request["by"]})
    _wake(job, signal.SIGUSR1)
    return {"paused": True, "mode": job["pause"]}


def resume(request: dict[str, Any]) -> dict[str, Any]:
    directory, job = _running(request)
    folder.give_back(directory, folder.PAUSE)
    _wake(job, signal.SIGUSR1)
    return {"paused": False, "mode": job["pause"]}


def _job(request: dict[str, Any]) -> Any:
    directory = folder.path_of(request["id"])
    folder.check_root()
    job = read_job(request["id"])
    if job is None:
        raise ValueError("there is no job {}".format(request["id"]))
    return directory, job


def _running(request: dict[str, Any]) -> Any:
    directory, job = _job(request)
    if not live(job):
        raise ValueError("the job {} does not run".format(job["id"]))
    if not runner_lives(job):
        raise ValueError("the runner of {} is gone: it can only be stopped".format(job["id"]))
    return directory, job


def _wake(job: dict[str, Any], number: int) -> None:
    runner = process(job["runner_pid"])
    if runner is not None and runner.start == job["runner_start_ticks"]:
        send(runner, number)


def _stop_orphans(directory: str, job: dict[str, Any], asked: dict[str, Any]) -> None:
    """In a process of its own, because the connection may go before the grace is over."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                forget_parent()
                _rescue(directory, job, asked)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def _rescue(directory: str, job: dict[str, Any], asked: dict[str, Any]) -> None:
    stopping = Stop(float(asked["grace_s"]), time.monotonic())
    while True:
        members = tree.orphans(job["id"], job["pid"], job["start_ticks"])
        if not members:
            break
        main = process(job["pid"]) if alive(job["pid"], job["start_ticks"]) else None
        stopping.step(time.monotonic(), main, members)
        time.sleep(_STEP_S)
    for name in job["files"]:
        folder.remove(directory, name)
    folder.fill(directory, folder.DRAINED, {"drained_s": round(time.time(), 3), "stopped_by": asked["by"]})
