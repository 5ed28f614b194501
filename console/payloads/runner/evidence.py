"""Whether anything of a job still lives."""

from __future__ import annotations

from typing import Any

from . import folder, tree
from .identity import alive, boot_id

_FIELDS = {
    "id": str, "kind": str, "key": str, "meta": dict, "files": list, "boot_id": str,
    "pid": int, "start_ticks": int, "runner_pid": int, "runner_start_ticks": int,
}  # fmt: skip


def read_job(job_id: str) -> dict[str, Any] | None:
    """The job's record; None when there is none, or one that no runner wrote."""
    job = folder.read(folder.path_of(job_id), folder.JOB)
    if job is None or job.get("id") != job_id:
        return None
    return job if all(isinstance(job.get(name), kind) for name, kind in _FIELDS.items()) else None


def live(job: dict[str, Any]) -> bool:
    """Its runner, or, when that died, anything that it left behind."""
    if job.get("boot_id") != boot_id() or folder.exists(folder.path_of(job["id"]), folder.DRAINED):
        return False
    return runner_lives(job) or bool(tree.orphans(job["id"], job["pid"], job["start_ticks"]))


def runner_lives(job: dict[str, Any]) -> bool:
    return alive(job["runner_pid"], job["runner_start_ticks"])
