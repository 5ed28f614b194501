"""From the agent's sample to the console's state, over a real sshd on loopback: both clocks are this machine's."""

from __future__ import annotations

import asyncio
import statistics
import time

from console.bus import Bus
from console.state import State, reduce
from console.workers.samples import fact_of
from tests.perf.box import Box, box
from tests.perf.table import Row
from tests.support.agent import binding

SECONDS = 30.0


async def latencies(place: Box) -> list[float]:
    """Seconds from the stamp of each sample to the state that holds it."""
    state, bus, found = State(), Bus(), []
    bus.listen(lambda stamped: reduce(state, stamped))
    connection = await place.gpudeck.laptop.connect(place.name)
    agent = await connection.open_agent({"env": place.library})
    await agent.request("nvml", module="pynvml", source=binding())
    ends = asyncio.get_running_loop().call_later(SECONDS, lambda: asyncio.create_task(agent.close()))
    began = time.monotonic()  # what has waited for its reader until now tells nothing
    async for frame in agent.frames():
        if frame.m >= began and (fact := fact_of(place.name, frame.k, frame.d)):
            bus.publish(fact)
            found.append(time.monotonic() - frame.m)
    ends.cancel()
    await connection.close()
    return found


def rows() -> list[Row]:
    with box() as place:
        found = asyncio.run(latencies(place))
    p95 = statistics.quantiles(found, n=20)[-1]
    return [Row(measure="sample to state on loopback, p95", value=1000 * p95, unit="ms", budget=10,
                base=f"{len(found)} samples, median {1000 * statistics.median(found):.1f} ms")]  # fmt: skip
