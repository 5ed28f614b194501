"""Sample frames of the agent become facts by one conversion: the frame's data has the fact's fields."""

from __future__ import annotations

from typing import Any

import msgspec

from console.events import Event, host, jobs, serve

# The only kinds that a box may put into the session by itself.
SAMPLE_KINDS: dict[str, type[Event]] = {
    kind.__name__: kind
    for kind in (*host.EVENTS, jobs.JobsSampled, serve.ServersSampled)
    if kind not in (host.GpusExpected, host.MachineIdentified)
}


def fact_of(name: str, kind: str, data: dict[str, Any]) -> Event | None:
    """The fact of a frame of the box `name`, or None when the frame is none. `data` holds cleaned text."""
    wanted = SAMPLE_KINDS.get(kind)
    if wanted is None:
        return None
    try:
        return msgspec.convert({**data, "host": name}, wanted)
    except msgspec.ValidationError:
        return None


def machine_of(name: str, hello: dict[str, Any]) -> Event | None:
    """Who the box is, from the agent's hello."""
    fields = host.MachineIdentified.__struct_fields__
    try:
        return msgspec.convert(
            {key: hello[key] for key in hello if key in fields} | {"host": name}, host.MachineIdentified
        )
    except msgspec.ValidationError:
        return None
