"""Every fact the console knows, past tense, frozen, typed. One module a domain; `ALL_EVENTS` joins them."""

from __future__ import annotations

from console.events import alerts, bench, doctor, host, hub, jobs, link, plan, serve
from console.events.base import Event, HostEvent, Stamped

ALL_EVENTS: tuple[type[Event], ...] = (
    *alerts.EVENTS,
    *bench.EVENTS,
    *doctor.EVENTS,
    *link.EVENTS,
    *host.EVENTS,
    *hub.EVENTS,
    *jobs.EVENTS,
    *plan.EVENTS,
    *serve.EVENTS,
)

KINDS: dict[str, type[Event]] = {kind.__name__: kind for kind in ALL_EVENTS}

__all__ = ["ALL_EVENTS", "KINDS", "Event", "HostEvent", "Stamped"]
