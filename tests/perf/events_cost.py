"""What facts cost the console: one that gets 1,000 a second beside one that gets 50, on terminals, in one window.

The facts are those of the mixed hour; bus, state, recorder and screen are the product's own.

    python -m tests.perf.events_cost RATE RECORDING    is the console that is measured
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from console.app import ConsoleApp
from console.bus import Bus
from console.events import Event
from console.journal import Recorder
from console.state import reduce
from tests.perf.mixed_hour import HOST, before, second
from tests.perf.process import ROOT, ran_s
from tests.perf.screen import screen
from tests.perf.table import Row
from tests.support.played import PlayedSession

BEAT_S = 0.02
RATES = (50, 1000)
START_S, SETTLE_S, SECONDS = 15.0, 5.0, 30.0


class Streamed(PlayedSession):
    """A session whose facts come over the bus, at the time of its clock."""

    def __init__(self, recording: Path) -> None:
        super().__init__(hosts=(HOST,))
        self.bus = Bus()
        self.bus.listen(lambda stamped: reduce(self.state, stamped))
        self.bus.listen(Recorder(recording, self.header, sys.exit).record)

    def now(self) -> float:
        return self.bus.now()


def facts(rate: int) -> Iterator[Event]:
    """The facts of the whole measure, made before it begins: who sends them is not what is measured."""
    count = int(rate * (START_S + SETTLE_S + SECONDS))
    made = list(itertools.islice(itertools.chain.from_iterable(map(second, itertools.count())), count))
    gc.freeze()
    return iter(made)


async def stream(session: Streamed, facts: Iterator[Event], rate: int) -> None:
    """Facts at this rate until none is left; a late beat brings what is due."""
    for event in before():
        session.bus.publish(event)
    started, told = time.monotonic(), 0
    while True:
        due = int((time.monotonic() - started) * rate)
        for event in itertools.islice(facts, due - told):
            session.bus.publish(event)
        told = due
        await asyncio.sleep(BEAT_S)


async def show(rate: int, recording: Path) -> None:
    """The console until it is killed."""
    made = facts(rate)
    session = Streamed(recording)
    streaming = asyncio.create_task(stream(session, made, rate))
    await ConsoleApp(session).run_async()  # type: ignore[arg-type]
    streaming.cancel()


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        pids = []
        for rate in RATES:
            argv = [sys.executable, "-m", "tests.perf.events_cost", str(rate), str(Path(place, f"{rate}.jsonl"))]
            shown = stack.enter_context(screen(argv, dict(os.environ), ROOT))
            shown.wait("READY")
            pids.append(shown.pid)
        time.sleep(SETTLE_S)
        at = [ran_s(pid) for pid in pids]
        time.sleep(SECONDS)
        few, many = (100 * (ran_s(pid) - start) / SECONDS for pid, start in zip(pids, at, strict=True))
    return [
        Row(measure="console at 1,000 facts a second", value=many, unit="% of a core"),
        Row(measure="the same", value=many / few, budget=1.5, base=f"at 50 facts a second, {few:.1f} % of a core"),
    ]


if __name__ == "__main__":
    asyncio.run(show(int(sys.argv[1]), Path(sys.argv[2])))
