"""The jobs of this box by their evidence: record, exit, and the identity of the processes.

The folders are the runner's (`console/payloads/runner/folder.py` lists the files); here they are only read.
"""

from __future__ import annotations

import json
import os
import time
from typing import Any, NamedTuple

from .machine import text_of
from .wire import unknown

MOST = 64  # jobs in one sample; the oldest finished ones are counted, not shown
REPEAT_S = 30.0  # an unchanged sample is sent again, so that its age says something
_FIELDS: dict[str, Any] = {
    "id": str, "kind": str, "key": str, "by": str, "created": str, "boot_id": str, "meta": dict, "pid": int,
    "start_ticks": int, "runner_pid": int, "runner_start_ticks": int, "grace_s": (int, float),
    "created_s": (int, float),
}  # fmt: skip
BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Jobs:
    """Sends JobsSampled when something changed, and now and then."""

    period_s = 1.0

    def __init__(self, agent: Any) -> None:
        self._outlet = agent.outlet
        self._finished: dict[str, dict[str, Any]] = {}
        self._sent: dict[str, Any] | None = None
        self._sent_at = 0.0

    def sample(self) -> None:
        data = self._read()
        now = time.monotonic()
        if data != self._sent or now - self._sent_at >= REPEAT_S:
            self._sent, self._sent_at = data, now
            self._outlet.sample("JobsSampled", dict(data, now_s=round(time.time(), 3)))

    def _read(self) -> dict[str, Any]:
        root = jobs_root()
        reason = distrust(root)
        if reason:
            return {"jobs": unknown(reason), "older": 0}
        try:
            names = [name for name in os.listdir(root) if not name.startswith(".")]
        except FileNotFoundError:
            names = []
        except OSError as error:
            return {"jobs": unknown(f"{root}: {error.strerror}"), "older": 0}
        self._finished = {name: job for name, job in self._finished.items() if name in names}
        found = [self._finished.get(name) or self._job(os.path.join(root, name), name) for name in names]
        jobs = sorted((job for job in found if job is not None), key=_order)
        return {"jobs": jobs[:MOST], "older": len(jobs[MOST:])}

    def _job(self, directory: str, name: str) -> dict[str, Any] | None:
        """The job's fields; None for a folder that is no job, or not one yet."""
        record = _json(directory, "job.json")
        if record is None or record.get("id") != name or not _whole(record):
            return None
        boot = (text_of(BOOT_ID) or "").strip()
        evidence = Evidence(
            ended=_json(directory, "exit.json"),
            drained=_json(directory, "drained.json"),
            same_boot=boot in ("", record["boot_id"]),  # one that cannot be read proves no reboot
            runner=_alive(record["runner_pid"], record["runner_start_ticks"]),
            main=_alive(record["pid"], record["start_ticks"]),
        )
        job = dict(_described(record), directory=directory, **judged(evidence))
        job["paused"] = job["state"] == "running" and os.path.lexists(os.path.join(directory, "pause"))
        if evidence.drained is not None or not evidence.same_boot:
            self._finished[name] = job  # nothing about it can change any more
        return job


class Evidence(NamedTuple):
    """What is known of a job. `runner` and `main`: exactly these processes live, in this boot."""

    ended: dict[str, Any] | None
    drained: dict[str, Any] | None
    same_boot: bool
    runner: bool
    main: bool


def judged(evidence: Evidence) -> dict[str, Any]:
    """State, how it ended, and why, from the evidence alone."""
    ended, drained = evidence.ended or {}, evidence.drained or {}
    state, reason = _state(evidence)
    missing = unknown("still runs" if state == "running" else reason or "not recorded")
    how = {key: ended.get(key) if evidence.ended else missing for key in ("code", "signal", "ended_s")}
    return {
        "state": state,
        "reason": ended.get("reason") or reason,
        "exit_code": how["code"],
        "signal": how["signal"],
        "ended_s": how["ended_s"],
        "oom": ended.get("oom") or "",
        "oom_kills": unknown("not recorded") if ended.get("oom_kills") is None else ended["oom_kills"],
        "stopped_by": drained.get("stopped_by") or ended.get("stopped_by") or "",
    }


def _state(evidence: Evidence) -> tuple[str, str]:
    if evidence.ended is not None:
        state = "exited" if evidence.ended.get("signal") is None else "signalled"
        if evidence.drained is not None or not evidence.same_boot:
            return state, ""
        if evidence.runner:
            return "draining", "the main process ended, others of the job still run"
        return state, "the runner was killed before the rest of the job had ended"
    if not evidence.same_boot:
        return "lost_reboot", "the box was started again while it ran"
    if evidence.drained is not None:
        return "lost_unknown", "the runner was killed; the rest was stopped"
    if evidence.runner:
        return ("running", "") if evidence.main else ("draining", "the main process is gone, its end not yet recorded")
    if evidence.main:
        return "lost_unknown", "the runner was killed; the main process still runs"
    return "lost_unknown", "runner and main process are gone and left no record of the end"


def _whole(record: dict[str, Any]) -> bool:
    """Whether the record has what every runner writes: one that somebody spoiled must not hide the others."""
    words = record.get("argv")
    return (
        all(isinstance(record.get(name), kind) for name, kind in _FIELDS.items())
        and isinstance(words, list)
        and all(isinstance(word, str) for word in words)
        and isinstance(record.get("unit"), (str, type(None)))
    )


def _described(record: dict[str, Any]) -> dict[str, Any]:
    same = ("id", "kind", "key", "by", "argv", "meta", "pid", "grace_s", "created_s")
    return dict({name: record[name] for name in same}, started=record["created"], unit=record["unit"] or "")


def _order(job: dict[str, Any]) -> tuple[bool, float]:
    """Those that may still do something first, then the youngest."""
    return job["state"] not in ("running", "draining"), -job["created_s"]


def jobs_root() -> str:
    """Where the runner keeps jobs: the same rule, the same environment."""
    state = os.environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "gpudeck", "jobs")


def distrust(folder: str) -> str:
    """Why the records there are not believed, the runner's own rule: others could have written whom to kill, or what
    to start. Empty when they are, or there are none."""
    try:
        status = os.stat(folder)
    except OSError:
        return ""
    if status.st_mode & 0o022:
        return f"{folder} can be written by others: its records are not believed (chmod 700 it)"
    if status.st_uid not in (os.geteuid(), os.stat(os.path.expanduser("~")).st_uid):
        return f"{folder} belongs to another user: its records are not believed"
    return ""


def _json(directory: str, name: str) -> dict[str, Any] | None:
    try:
        with open(os.path.join(directory, name), encoding="ascii") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


def _alive(pid: int, start: int) -> bool:
    text = text_of(f"/proc/{pid}/stat")
    if text is None:
        return False
    fields = text[text.rindex(")") + 2 :].split()
    return fields[0] not in ("Z", "X") and int(fields[19]) == start
