"""The processes of a job, however they try to get away: new parents, new sessions, new names."""

from __future__ import annotations

import os
from typing import Iterable

from .identity import Process, process

MARK = "GPUDECK_JOB"  # in the environment of everything a job starts


def snapshot() -> dict[int, Process]:
    """All processes that can be seen, by pid."""
    found = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {each.pid: each for each in found if each is not None}


def descendants(root: int, table: dict[int, Process] | None = None) -> list[Process]:
    """Everything below `root`. A sub-reaper's orphans come back to it, so that for a runner this is all of a job."""
    table = snapshot() if table is None else table
    children: dict[int, list[Process]] = {}
    for each in table.values():
        children.setdefault(each.parent, []).append(each)
    found: list[Process] = []
    waiting = [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += [each.pid for each in below]
    return found


def orphans(job_id: str, pid: int, start: int) -> list[Process]:
    """What is provably left of a job whose runner died: what bears its mark, and all below it; and while its main
    process lives, that, its session (the number may be somebody else's later), and all below."""
    table = snapshot()
    roots = [each for each in table.values() if _marked(each.pid, job_id)]
    main = table.get(pid)
    if main is not None and main.start == start:
        roots += [each for each in table.values() if each.session == pid] + [main]
    found = {each.pid: each for each in roots}
    for each in roots:
        found.update((below.pid, below) for below in descendants(each.pid, table))
    found.pop(os.getpid(), None)
    return list(found.values())


def _marked(pid: int, job_id: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return (f"{MARK}={job_id}").encode() in file.read().split(b"\0")
    except OSError:
        return False


def pids(processes: Iterable[Process]) -> list[int]:
    return sorted(each.pid for each in processes)
