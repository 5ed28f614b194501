"""Jobs as facts, for tests that need no box."""

from __future__ import annotations

from typing import Any

from console.events.jobs import Job
from console.values import CleanText, Unknown

RUNNING = Unknown("still runs")


def job(job_id: str, **fields: Any) -> Job:
    """A running download, unless fields say otherwise."""
    values: dict[str, Any] = {
        "id": CleanText(job_id), "kind": CleanText("download"), "key": CleanText("/data/Kimi-K2.6"),
        "by": CleanText("me@laptop"), "argv": (CleanText("python3"), CleanText("-c")), "meta": {}, "pid": 4711,
        "directory": CleanText(f"/root/.local/state/gpudeck/jobs/{job_id}"), "unit": CleanText(""), "grace_s": 30.0,
        "started": CleanText("2026-01-31T22:00:00Z"), "created_s": 1000.0, "state": "running",
        "reason": CleanText(""), "paused": False, "exit_code": RUNNING, "signal": RUNNING, "ended_s": RUNNING,
        "oom": CleanText(""), "oom_kills": 0, "stopped_by": CleanText(""),
    }  # fmt: skip
    return Job(**(values | fields))
