"""Whether anything of a job still lives."""

from __future__ import annotations

from typing import Any

from . import folder, tree
from .identity import alive, boot_id


def live(job: dict[str, Any]) -> bool:
    """Its runner, or, when that died, anything that it left behind."""
    if job.get("boot_id") != boot_id() or folder.exists(folder.path_of(job["id"]), folder.DRAINED):
        return False
    return runner_lives(job) or bool(tree.orphans(job["id"], job["pid"], job["start_ticks"]))


def runner_lives(job: dict[str, Any]) -> bool:
    return alive(job["runner_pid"], job["runner_start_ticks"])
