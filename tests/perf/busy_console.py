"""The console in the midst of a night, without a box: a download, a sweep, eight GPUs, and 1,000 log lines a second.

`python -m tests.perf.busy_console FILE` shows it on this terminal until `q`, and records it to FILE.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Iterator
from pathlib import Path

from console.app import ConsoleApp
from console.bus import Bus
from console.events import Event, Stamped
from console.events.serve import ServerLogged
from console.journal import Recorder
from console.state import reduce
from tests.perf import mixed_hour
from tests.support.played import PlayedSession

LINES_S = 1000
PARTS = 4  # a server's log is read four times a second


class Busy(PlayedSession):
    """A played session whose facts go the real way: bus, reducer, recorder; its clock runs."""

    def __init__(self, recording: Path) -> None:
        super().__init__(hosts=[mixed_hour.HOST])
        self.bus = Bus()
        self.recording = recording.name
        recorder = Recorder(recording, self.header, lambda _reason: None)
        self.bus.listen(self._reduce)
        self.bus.listen(recorder.record)

    def _reduce(self, stamped: Stamped) -> None:
        reduce(self.state, stamped)

    def tell(self, event: Event) -> None:
        self.bus.publish(event)

    def now(self) -> float:
        return self.bus.now()

    async def play(self) -> None:
        """Facts without end."""
        for event in mixed_hour.before():
            self.tell(event)
        number = 0
        while True:
            others = iter([one for one in mixed_hour.second(number) if not isinstance(one, ServerLogged)])
            for part in range(PARTS):
                for event in [*lines(number, part), *_some(others, 6)]:
                    self.tell(event)
                await asyncio.sleep(1 / PARTS)
            number += 1


def lines(number: int, part: int) -> Iterator[Event]:
    """A quarter of a second of the server's log."""
    rows = tuple(mixed_hour.line(number, part * LINES_S // PARTS + at) for at in range(LINES_S // PARTS))
    yield ServerLogged(host=mixed_hour.HOST, server=mixed_hour.SERVER, rows=rows)


def _some(events: Iterator[Event], count: int) -> Iterator[Event]:
    for _ in range(count):
        if (event := next(events, None)) is not None:
            yield event


async def main(recording: Path) -> None:
    """Play beside the app until it ends."""
    session = Busy(recording)
    app = ConsoleApp(session)
    playing = asyncio.create_task(session.play())
    gc.freeze()  # as console.cli.screen does
    try:
        await app.run_async()
    finally:
        playing.cancel()
        await asyncio.gather(playing, return_exceptions=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
