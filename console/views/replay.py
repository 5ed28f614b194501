"""`gpudeck.replay/1`: the end state of a recording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from console.state import State
from console.views.bench import recorded_run, run_lines, run_objects
from console.views.status import status
from console.views.text import status_lines


def replay_object(state: State, warnings: Sequence[str]) -> dict[str, Any]:
    """The object without `schema` and `ts`. Everything in it comes from the recording."""
    return {
        "events": state.events,
        "duration_s": state.t,
        "unknown_kinds": dict(sorted(state.session.unknown_kinds.items())),
        "unknown_fields": state.session.unknown_fields,
        "warnings": list(warnings),
        "notes": [{"t": t, "text": text} for t, text in state.session.notes],
        "hosts": {name: status(host, state.t) for name, host in sorted(state.hosts.items())},
        "runs": [run for _, host in sorted(state.hosts.items()) for run in run_objects(host)],
    }


def replay_lines(state: State, warnings: Sequence[str], at: str) -> list[str]:
    """The same for a person; `at` is the UTC time of the last event."""
    lines = [f"REPLAY to {at}: {state.events} events in {state.t:.1f} s"]
    lines += [f"warning: {warning}" for warning in warnings]
    unknown = sorted(state.session.unknown_kinds.items())
    lines += [f"warning: {count} × unknown kind {kind}" for kind, count in unknown]
    lines += [f"note at {t:.1f} s: {text}" for t, text in state.session.notes]
    for _, host in sorted(state.hosts.items()):
        lines += ["", *status_lines(host, state.t)]
        lines += [line for run in host.bench.runs.values() for line in ("", *run_lines(recorded_run(run)))]
    return lines
