"""What is true now, folded from facts. Mutated only inside `reduce`."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field

from console.events.bench import RunsListed
from console.state.alerts import Alerts
from console.state.bench import Bench
from console.state.host import Hardware
from console.state.hub import Hub
from console.state.jobs import Jobs
from console.state.link import Link
from console.state.plan import Plans
from console.state.serve import Serve
from console.values import CleanText

NOTES_KEPT = 1000


@dataclass
class HostState:
    """Everything known of one box, one field a slice. `revisions` counts the facts that touched a slice, so
    that a screen repaints only what changed."""

    name: str
    link: Link = field(default_factory=Link)
    hardware: Hardware = field(default_factory=Hardware)
    hub: Hub = field(default_factory=Hub)
    jobs: Jobs = field(default_factory=Jobs)
    bench: Bench = field(default_factory=Bench)
    plan: Plans = field(default_factory=Plans)
    serve: Serve = field(default_factory=Serve)
    alerts: Alerts = field(default_factory=Alerts)
    revisions: Counter[str] = field(default_factory=Counter)


@dataclass
class SessionState:
    """What is true of the console itself."""

    recorder_failure: CleanText = CleanText("")
    worker_failure: CleanText = CleanText("")
    runs: RunsListed | None = None
    runs_revision: int = 0
    notes: deque[tuple[float, CleanText]] = field(default_factory=lambda: deque(maxlen=NOTES_KEPT))
    unknown_kinds: Counter[str] = field(default_factory=Counter)
    unknown_fields: int = 0


@dataclass
class State:
    """All boxes by name, and the session. `seq` and `t` are those of the last fact, `events` counts the facts: a
    recording with a broken line has fewer than its last `seq` says."""

    hosts: dict[str, HostState] = field(default_factory=dict)
    session: SessionState = field(default_factory=SessionState)
    seq: int = 0
    events: int = 0
    t: float = 0.0
