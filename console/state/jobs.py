"""The slice of a box's jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from console.events.jobs import Job, JobsSampled
from console.state.reducer import HostReducers
from console.values import Unknown

if TYPE_CHECKING:
    from console.state.model import HostState


@dataclass
class Jobs:
    """The jobs as last seen, in the box's order; `seen_t` is when."""

    jobs: tuple[Job, ...] | Unknown = field(default_factory=lambda: Unknown("not sampled yet"))
    older: int = 0
    seen_t: float | Unknown = field(default_factory=lambda: Unknown("not sampled yet"))


def _sampled(host: HostState, event: JobsSampled, t: float) -> None:
    host.jobs.jobs, host.jobs.older, host.jobs.seen_t = event.jobs, event.older, t


REDUCERS: HostReducers = {JobsSampled: _sampled}
