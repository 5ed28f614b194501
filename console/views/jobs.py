"""Jobs as rows, sentences and data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from console.events.jobs import Job
from console.state import HostState
from console.values import format_duration, known

_LEFT_OUT = ("directory", "created_s", "argv", "meta")


class JobRow(NamedTuple):
    """One job for a table. `kind` is how it stands: ok, busy, warn, fail or off."""

    id: str
    what: str
    target: str
    kind: str
    word: str
    age: str
    by: str
    detail: str


def job_rows(host: HostState, now: float) -> list[JobRow]:
    """The box's order; `now` is seconds since the session started."""
    jobs, seen_t = host.jobs.jobs, host.jobs.seen_t
    wall_s = host.jobs.now_s + (now - seen_t if known(seen_t) else 0.0)
    return [job_row(job, wall_s) for job in jobs] if known(jobs) else []


def job_row(job: Job, wall_s: float) -> JobRow:
    """`wall_s` is the box's clock now. `age`: how long it runs, or ran."""
    kind, word = state_word(job)
    end = wall_s if job.state == "running" else job.ended_s
    age = format_duration(max(0.0, end - job.created_s)) if known(end) else "unknown"
    return JobRow(job.id, job.kind, target(job), kind, word, age, job.by, detail(job))


def target(job: Job) -> str:
    """What it works on, as a person calls it: the repository, the recipe with its port; else its key."""
    manifest = job.meta.get("manifest")
    named = job.meta.get("repo") or job.meta.get("recipe") or (isinstance(manifest, dict) and manifest.get("recipe"))
    if not isinstance(named, str):
        return job.key
    return named if "repo" in job.meta else f"{named} {job.key.replace('port ', ':')}"


def state_word(job: Job) -> tuple[str, str]:
    """How it stands, as a kind of state and as words."""
    if job.state == "running":
        return ("warn", "paused") if job.paused else ("busy", "running")
    if job.state == "draining":
        return "busy", "draining"
    if job.stopped_by and not job.oom:
        return "off", "stopped"
    if job.state == "exited":
        return ("ok", "done") if job.exit_code == 0 else ("fail", f"exit {job.exit_code}")
    if job.state == "signalled":
        return "fail", "out of memory" if job.oom else f"signal {job.signal}"
    return ("fail", "lost: reboot") if job.state == "lost_reboot" else ("fail", "lost")


def detail(job: Job) -> str:
    """One sentence more about how it ended, when there is one."""
    if job.oom:
        return f"killed for memory: {job.oom}"
    return f"stopped by {job.stopped_by}" if job.stopped_by and job.state != "running" else job.reason


def succeeded(job: Job) -> bool:
    """Whether its main process ended with 0, of itself."""
    return job.state in ("exited", "draining") and job.exit_code == 0


def ended(job: Job) -> bool:
    """Whether nothing more is to come from its main process."""
    return job.state not in ("running", "draining") or (known(job.exit_code) and job.state == "draining")


def may_live(job: Job) -> bool:
    """Whether something of it may still run, so that stopping it makes sense."""
    return job.state in ("running", "draining", "lost_unknown")


def find_job(host: HostState, job_id: str) -> Job | None:
    """The job of this id."""
    jobs = host.jobs.jobs
    return next((job for job in jobs if job.id == job_id), None) if known(jobs) else None


def newest_job(host: HostState, kind: str | None = None) -> Job | None:
    """The youngest job, or the youngest of a kind."""
    jobs = [job for job in host.jobs.jobs if kind in (None, job.kind)] if known(host.jobs.jobs) else []
    return max(jobs, key=lambda job: job.created_s, default=None)


def job_texts(job: Job) -> list[str]:
    """One job in a few lines: how it stands, what it is, its words, where its files are."""
    said = detail(job)
    return [
        f"{job.id}: {state_word(job)[1]}" + (f", {said}" if said else ""),
        f"  {job.kind} of {job.key}, started {job.started} by {job.by}, pid {job.pid}",
        f"  {_command(job.argv)}"[:400],
        f"  folder {job.directory}",
    ]


def _command(argv: Sequence[str]) -> str:
    """The command line without the source of a program of ours: nobody reads it, and it hides the rest."""
    return " ".join("…" if before == "-c" else word for before, word in zip(("", *argv), argv, strict=False))


def job_object(job: Job) -> dict[str, Any]:
    """A job in `gpudeck.status/1` and `gpudeck.jobs/1`."""
    return {name: getattr(job, name) for name in job.__struct_fields__ if name not in _LEFT_OUT}


def job_details(job: Job) -> dict[str, Any]:
    """A job in `gpudeck.job/1`: with its arguments and what its starter wrote about it."""
    return job_object(job) | {"argv": list(job.argv), "meta": job.meta, "directory": job.directory}


def jobs_value(host: HostState) -> Any:
    """The `jobs` of the JSON outputs: a list, or the reason why it is not known."""
    jobs = host.jobs.jobs
    return [job_object(job) for job in jobs] if known(jobs) else jobs


def job_lines(host: HostState, now: float) -> list[str]:
    """The jobs as plain lines."""
    jobs = host.jobs.jobs
    if not known(jobs):
        return [f"Jobs  unknown: {jobs.reason}"]
    if not jobs:
        return ["Jobs  none"]
    lines = [_line(row) for row in job_rows(host, now)]
    older = [f"      and {host.jobs.older} older ones"] if host.jobs.older else []
    return ["Jobs", *lines, *older]


def _line(row: JobRow) -> str:
    end = f"  {row.detail}" if row.detail else ""
    return f"  {row.id}  {row.word}  {row.target}  {row.age}  by {row.by}{end}"
