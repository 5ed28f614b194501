"""Facts of the jobs on a box: long work that goes on when the laptop leaves."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from console.events.base import HostEvent
from console.values import CleanText, Unknown

JobState = Literal["running", "draining", "exited", "signalled", "lost_reboot", "lost_unknown"]

JobAction = Literal["stop", "pause", "resume"]


class Job(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """One job as its folder and its processes prove it.

    `key` is its target: two jobs of one kind and key do not run at once. `by` is `user@laptop`. `meta` is what the
    starter wrote about it. `started` is UTC; `created_s` and `ended_s` are the box's wall clock. Exactly one of
    `exit_code` and `signal` is a number once it has ended, the other is None; both are Unknown while it runs or
    when no record of its end exists. `oom` is the proof of a memory kill, or empty.
    """

    id: CleanText
    kind: CleanText
    key: CleanText
    by: CleanText
    argv: tuple[CleanText, ...]
    meta: dict[str, Any]
    directory: CleanText
    pid: int
    unit: CleanText
    grace_s: float
    started: CleanText
    created_s: float
    state: JobState
    reason: CleanText
    paused: bool
    exit_code: int | Unknown | None
    signal: int | Unknown | None
    ended_s: float | Unknown
    oom: CleanText
    oom_kills: int | Unknown
    stopped_by: CleanText


class JobsSampled(HostEvent, frozen=True, gc=False, kw_only=True):
    """All jobs of the box, running ones first, then the youngest; `older` finished ones are not listed.

    `now_s` is the box's wall clock at that moment, as are `created_s` and `ended_s`.
    """

    jobs: tuple[Job, ...] | Unknown
    older: int
    now_s: float


class JobRequestFailed(HostEvent, frozen=True, gc=False, kw_only=True):
    """The box refused a request about a job, or nobody knows whether it did it."""

    job: CleanText
    action: JobAction
    reason: CleanText


EVENTS = (JobsSampled, JobRequestFailed)
