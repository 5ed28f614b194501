"""`reduce` folds facts into state: the only place where state changes, and it reads nothing but the fact."""

from __future__ import annotations

from console.events import Event, HostEvent, Stamped
from console.state import alerts, bench, host, hub, jobs, link, plan, serve, session
from console.state.alert_watch import WATCHES
from console.state.model import HostState, State
from console.state.reducer import HostReducer, HostReducers

# One entry a slice: the name under which its changes are counted, and its reducers.
_SLICES: tuple[tuple[str, HostReducers], ...] = (
    ("link", link.REDUCERS),
    ("hardware", host.REDUCERS),
    ("hub", hub.REDUCERS),
    ("jobs", jobs.REDUCERS),
    ("bench", bench.REDUCERS),
    ("plan", plan.REDUCERS),
    ("serve", serve.REDUCERS),
    ("alerts", alerts.REDUCERS),
)

HOST_REDUCERS: dict[type[Event], tuple[str, HostReducer]] = {
    kind: (name, reducer) for name, reducers in _SLICES for kind, reducer in reducers.items()
}

MOST_HOSTS = 500  # a recording that names more is none of ours


def reduce(state: State, stamped: Stamped) -> None:
    """Fold one fact into the state, in place."""
    event = stamped.event
    state.seq, state.t = stamped.seq, stamped.t
    state.events += 1
    if stamped.extra:
        state.session.unknown_fields += len(stamped.extra)
    if not isinstance(event, HostEvent):
        session.REDUCERS[type(event)](state, event, stamped.t)
        return
    box = state.hosts.get(event.host)
    if box is None:
        if len(state.hosts) >= MOST_HOSTS:
            return
        box = state.hosts[event.host] = HostState(event.host)
    name, reducer = HOST_REDUCERS[type(event)]
    reducer(box, event, stamped.t)
    box.revisions[name] += 1
    if watch := WATCHES.get(type(event)):
        watch(box, event, stamped.t)
        box.revisions["alerts"] += 1
