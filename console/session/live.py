"""The live session: links, workers, bus and recorder. It lives outside the Textual app."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self

from console import __version__
from console.bus import Bus
from console.config.records import HostConfig
from console.events import Event, Stamped
from console.events.link import RecorderFailed
from console.journal import Header, Recorder, new_header
from console.state import HostState, State, reduce
from console.supervisor import Supervisor
from console.values import clean
from console.workers.box import Box
from console.workers.link import LinkWorker, Opener


class LiveSession:
    """Boxes by name. `async with` starts the links and, at the end, cancels everything AND waits for it."""

    replayed = False

    def __init__(
        self,
        hosts: Sequence[HostConfig],
        opener: Opener,
        nvml: bytes,
        *,
        record: Path | None = None,
        read_only: bool = False,
        demo: bool = False,
    ) -> None:
        """`record` is a file that does not exist yet; `nvml` the source of the module shipped to the agents."""
        self.header: Header = new_header(__version__, tuple(host.name for host in hosts), datetime.now(UTC))
        self.state = State(hosts={host.name: HostState(host.name) for host in hosts})
        self.bus = Bus()
        self.demo = demo
        self.read_only = read_only
        self.supervisor = Supervisor(self._task_failed)
        self.failure: BaseException | None = None
        self.links = {host.name: LinkWorker(host, self.publish, opener, nvml) for host in hosts}
        self.bus.listen(self._reduce)
        self._recorder = Recorder(record, self.header, self._recorder_failed) if record else None
        if self._recorder:
            self.bus.listen(self._recorder.record)
        self._changed = asyncio.Event()

    @property
    def recording(self) -> str:
        """The name of the file that is recorded to, or empty."""
        return self._recorder.path.name if self._recorder and self._recorder.recording else ""

    def now(self) -> float:
        """Seconds since the session started."""
        return self.bus.now()

    def publish(self, event: Event) -> None:
        """Tell a fact."""
        self.bus.publish(event)

    def box(self, name: str) -> Box | None:
        """The connected box, or None while its link is down."""
        return self.links[name].box

    async def wait(self, ready: Callable[[State], bool], timeout_s: float | None = None) -> bool:
        """Wait until the state is as wanted; False when the time is over. Raises what broke a worker."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                while not ready(self.state):
                    if self.failure is not None:
                        raise self.failure
                    self._changed.clear()
                    await self._changed.wait()
        return ready(self.state)

    def _reduce(self, stamped: Stamped) -> None:
        reduce(self.state, stamped)
        self._changed.set()

    def _recorder_failed(self, reason: str) -> None:
        path = self._recorder.path if self._recorder else ""
        self.publish(RecorderFailed(path=clean(str(path)), reason=clean(reason)))

    def _task_failed(self, _name: str, error: BaseException) -> None:
        self.failure = error
        self._changed.set()

    async def __aenter__(self) -> Self:
        for name, link in self.links.items():
            self.supervisor.start(f"link {name}", link.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.supervisor.stop()
        if self._recorder:
            self._recorder.close()
