"""The slice of a box's jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.events.jobs import Job, JobRequestFailed, JobsSampled
from console.state.reducer import HostReducers
from console.values import Unknown

if TYPE_CHECKING:
    from console.state.model import HostState


@dataclass
class Jobs:
    """The jobs as last seen, in the box's order; `seen_t` is when, `now_s` the box's clock then.

    `failed` is the last request about a job that the box did not grant.
    """

    jobs: tuple[Job, ...] | Unknown = field(default_factory=lambda: Unknown("not sampled yet"))
    older: int = 0
    now_s: float = 0.0
    failed: JobRequestFailed | None = None
    seen_t: float | Unknown = field(default_factory=lambda: Unknown("not sampled yet"))


def _sampled(host: HostState, event: JobsSampled, t: float) -> None:
    slice_ = host.jobs
    slice_.jobs, slice_.older, slice_.now_s, slice_.seen_t = event.jobs, event.older, event.now_s, t


def _failed(host: HostState, event: JobRequestFailed, _t: float) -> None:
    host.jobs.failed = event


REDUCERS: HostReducers = {JobsSampled: _sampled, JobRequestFailed: _failed}
