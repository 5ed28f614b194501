"""Starting a job: refused when the same one runs, detached from us, and answered only when its record is there."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any

from . import folder, record, units
from .evidence import live, read_job
from .serve import serve

WAIT_S = 20.0


def start(request: dict[str, Any]) -> dict[str, Any]:
    """`job`: see `record.prepare`. Answers {job} when it runs (also when this very id was started before), or
    {refused: "exists", job} when another one with its kind and key runs. Raises OSError and ValueError."""
    job = request["job"]
    umask = os.umask(0o077)
    directory = folder.path_of(job["id"])
    with folder.locked():
        known = read_job(job["id"])
        if known is not None:
            return {"job": dict(known, directory=directory)}
        for job_id in folder.job_ids():
            other = read_job(job_id)
            if other and (other["kind"], other["key"]) == (job["kind"], job["key"]) and live(other):
                return {"refused": "exists", "job": dict(other, directory=folder.path_of(job_id))}
        os.mkdir(directory, 0o700)
        try:
            return {"job": dict(_launch(request, directory, umask), directory=directory)}
        except (OSError, ValueError, KeyError, TypeError):
            shutil.rmtree(directory, ignore_errors=True)
            raise


def _launch(request: dict[str, Any], directory: str, umask: int) -> dict[str, Any]:
    job = request["job"]
    folder.reserve(directory, folder.EXIT, folder.DRAINED, folder.STOP, folder.PAUSE)
    record.write_files(job, directory)
    spec = record.prepare(job, directory, umask)
    folder.write(directory, folder.SPEC, folder.dump(spec))
    unit = units.launch(job["id"], directory, request["unit"], spec["job"]["grace_s"]) if "unit" in request else None
    if unit is None:
        _detach(directory)
    return _wait(directory)


def _detach(directory: str) -> None:
    """A process of its own session whose parent is the init process; its files are not ours."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                forget_parent()
                serve(directory, None)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def forget_parent() -> None:
    """Hold nothing of the caller's: its pipes would stay open, its lock taken."""
    os.chdir("/")
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    for name in os.listdir("/proc/self/fd"):
        if int(name) > 2:
            _close(int(name))


def _close(descriptor: int) -> None:
    try:
        os.close(descriptor)
    except OSError:  # the listing's own
        return


def _wait(directory: str) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        job: dict[str, Any] | None = folder.read(directory, folder.JOB)
        if job is not None:
            return job
        ended = folder.read(directory, folder.EXIT)
        if ended is not None:
            raise ValueError(ended["reason"])
        time.sleep(0.01)
    raise ValueError(f"the runner of the job gave no sign within {WAIT_S:.0f} s")
