"""Downloads and verifications as jobs of the box, and their progress as facts."""

from __future__ import annotations

from typing import Any

import msgspec

from console.values import CleanText, clean
from console.workers import jobs
from console.workers.box import Box
from console.workers.hub import PACKAGE, Place, Want
from console.workers.hub_facts import progress_fact

KINDS = ("download", "verify")
GRACE_S = 10.0


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """A download or a verification: `want.path` is its target, `commit` the one that was resolved, if any, and
    `files` its manifest, which a job without them asks for itself."""

    want: Want
    commit: str | None = None
    files: tuple[dict[str, Any], ...] = ()
    again: bool = False


def spec_of(kind: str, place: Place, transfer: Transfer) -> jobs.JobSpec:
    """The job. Its target is its key: no two downloads write into one directory, and a pause is the job's own."""
    want = transfer.want
    config = {
        "job": kind,
        "env": place.env,
        "repo": want.repo,
        "revision": want.revision,
        "commit": transfer.commit,
        "path": want.path,
        "include": list(want.include),
        "exclude": list(want.exclude),
        "files": list(transfer.files),
        "again": transfer.again,
    }
    argv, stdin = jobs.python_program(place.python, PACKAGE, config)
    return jobs.JobSpec(
        kind=kind,
        key=want.path or want.repo,
        argv=argv,
        stdin=stdin,
        env={"PYTHONUNBUFFERED": "1"},
        meta={"repo": want.repo, "path": want.path, "revision": want.revision},
        pause="file" if kind == "download" else "signal",
        grace_s=GRACE_S,
    )


async def tell_progress(box: Box, job_id: CleanText, directory: str, repo: str, path: str) -> None:
    """Publishes every line of a job as a fact, from the first one: what re-adopts a download after a reconnect.

    Ends with the job's last line; lets LinkLost through.
    """
    async for line in jobs.progress(box, directory):
        fact = progress_fact(box.name, job_id, clean(repo), clean(path), line)
        if fact is not None:
            box.publish(fact)
        if line.get("phase") == "end":
            return
