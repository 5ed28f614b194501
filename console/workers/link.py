"""Keeps the link to one box: connect, watch, reconnect. Everything it meets is told as a fact."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
import zlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Protocol

from console.config import memory
from console.config.records import HostConfig
from console.events import Event
from console.events.host import GpuIdentity, GpuRemembered, GpusExpected, GpusIdentified
from console.events.link import (
    FramesDropped,
    HeartbeatHeard,
    HostKeyAsked,
    HostKeyChanged,
    LinkChanged,
    NoiseHeard,
    PingAnswered,
)
from console.remote import errors, known_hosts
from console.remote.agent import Agent
from console.remote.backoff import Backoff
from console.remote.frames import Frame
from console.values import CleanText, Unknown, clean, known
from console.workers.box import Box
from console.workers.samples import fact_of, machine_of

WATCH_S = 0.5
STALE_S = 3.0


class Tunnel(Protocol):
    """A port of this machine's loopback that leads to the box."""

    @property
    def port(self) -> int: ...

    async def close(self) -> None: ...


class Link(Protocol):
    """An open way to a box: SSH, or this machine itself."""

    @property
    def via(self) -> tuple[str, ...]:
        """The hops before the box."""
        ...

    @property
    def banner(self) -> tuple[str, ...]:
        """What the servers said before the login."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the SSH configuration was not obeyed because it would trust blindly."""
        ...

    async def open_agent(self) -> Agent: ...

    async def forward(self, box_port: int, *, address: str) -> Tunnel | None:
        """A tunnel to a port of the box; None where the box is this machine."""
        ...

    async def close(self) -> None: ...


class Ways(Protocol):
    """How boxes are reached."""

    async def open(self, host: HostConfig) -> Link: ...

    def nvml(self, host: HostConfig) -> bytes:
        """The source of the module that the agent on this box asks for GPUs."""
        ...


class LinkWorker:
    """One box. `box` is set while the link is up; `again` makes the next attempt start now."""

    def __init__(self, host: HostConfig, publish: Callable[[Event], None], ways: Ways) -> None:
        self.host = host
        self.box: Box | None = None
        self.link: Link | None = None
        self._publish = publish
        self._ways = ways
        self._unknown_key: errors.HostKeyUnknown | None = None
        self._again = asyncio.Event()

    def again(self) -> None:
        """Try again now, whatever the wait."""
        self._again.set()

    def accept_host_key(self) -> None:
        """Trust the key that was shown last, then connect again with the file that holds it."""
        if self._unknown_key is not None:
            try:
                known_hosts.accept_host_key(self._unknown_key)
            except OSError as error:
                where = error.filename or known_hosts.own_file()
                said = f"The host key could not be kept: {where}: {error.strerror}."
                self._changed("blocked", sentence=said, exit_code=errors.HostKeyUnknown.exit_code)
                return
            self.again()

    async def run(self) -> None:
        """Until cancelled."""
        backoff = Backoff()
        while True:
            self._changed("connecting")
            try:
                link = await self._ways.open(self.host)
            except errors.RemoteError as error:
                await self._failed(error, backoff)
                continue
            self.link = link
            try:
                await self._serve(link, backoff)
            except errors.RemoteError as error:
                await self._failed(error, backoff)
            finally:
                self.box, self.link = None, None
                await link.close()

    async def _serve(self, link: Link, backoff: Backoff) -> None:
        """Agents on one connection: one that dies is started again on it, once in a while."""
        while True:
            agent = await link.open_agent()
            opened = time.monotonic()
            try:
                await self._work(link, agent, backoff)
            except errors.AgentEnded as ended:
                if time.monotonic() - opened < STALE_S:
                    raise
                self._changed("lost", sentence=str(ended), exit_code=ended.exit_code)
            finally:
                self.box = None
                await agent.close()

    async def _work(self, link: Link, agent: Agent, backoff: Backoff) -> None:
        self._greet(link, agent)
        self.box = Box(self.host.name, agent, self._publish, self.host.opened(str(agent.hello.get("home", ""))))
        backoff.reset()
        watching = asyncio.create_task(self._watch(agent))
        shipping = asyncio.create_task(_ship_nvml(agent, self._ways.nvml(self.host)))
        try:
            async for frame in agent.frames():
                self._take(frame, agent)
        finally:
            for task in (watching, shipping):
                task.cancel()
            await asyncio.gather(watching, shipping, return_exceptions=True)

    def _greet(self, link: Link, agent: Agent) -> None:
        name = self.host.name
        self._changed("up", via=tuple(clean(hop) for hop in link.via))
        with contextlib.suppress(OSError):
            memory.remember(name, used=datetime.now(UTC).isoformat(timespec="seconds"))
        said = (*(clean(line) for line in (*link.banner, *link.notes)), *agent.noise)
        if said:
            self._publish(NoiseHeard(host=name, lines=said))
        if machine := machine_of(name, agent.hello):
            self._publish(machine)
        expected = memory.read_memory().get(name)
        if expected and expected.gpus_expected is not None:
            self._publish(_expected(name, expected.gpus_expected, expected.gpus))
        self._publish(HeartbeatHeard(host=name, skew_s=round(agent.hello_wall_s - time.time(), 3)))

    def _take(self, frame: Frame, agent: Agent) -> None:
        name = self.host.name
        if frame.k == "heartbeat":
            self._publish(HeartbeatHeard(host=name, skew_s=round(frame.t - time.time(), 3)))
            return
        if frame.k == "pong":
            self._publish(PingAnswered(host=name, rtt_s=round(frame.d["rtt_s"], 4)))
            return
        fact = fact_of(name, frame.k, frame.d)
        if fact is None:
            agent.malformed += 1
            return
        self._publish(fact)
        if isinstance(fact, GpusIdentified) and known(fact.gpus):
            with contextlib.suppress(OSError):  # what cannot be remembered is only missed next time
                memory.remember(name, gpus=[_in_memory(gpu) for gpu in fact.gpus])

    async def _watch(self, agent: Agent) -> None:
        """Silence and lost frames, told when they change."""
        lost, stale = (0, 0), False
        while True:
            await asyncio.sleep(max(WATCH_S, STALE_S - agent.silence_s))  # before that no silence is one
            if (agent.dropped, agent.malformed) != lost:
                dropped, malformed = agent.dropped - lost[0], agent.malformed - lost[1]
                lost = (agent.dropped, agent.malformed)
                self._publish(FramesDropped(host=self.host.name, dropped=dropped, malformed=malformed))
            if (agent.silence_s >= STALE_S) != stale:
                stale = not stale
                self._changed("stale" if stale else "up")

    async def _failed(self, error: errors.RemoteError, backoff: Backoff) -> None:
        """Tell it, then wait: for the next attempt, or for the user when another attempt cannot help."""
        self._tell_host_key(error)
        self._again.clear()
        retry_s = round(backoff.next_delay_s(), 2) if error.retryable else None
        state = "lost" if error.retryable else "blocked"
        self._changed(state, sentence=str(error), exit_code=error.exit_code, retry_s=retry_s)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(retry_s):
                await self._again.wait()

    def _tell_host_key(self, error: errors.RemoteError) -> None:
        self._unknown_key = error if isinstance(error, errors.HostKeyUnknown) else None
        if isinstance(error, errors.HostKeyUnknown):
            target = clean(f"{error.host}:{error.port}")
            algorithm, fingerprint = clean(error.algorithm), clean(error.fingerprint)
            asked = HostKeyAsked(host=self.host.name, target=target, algorithm=algorithm, fingerprint=fingerprint)
            self._publish(asked)
        elif isinstance(error, errors.HostKeyChanged):
            self._publish(
                HostKeyChanged(
                    host=self.host.name,
                    target=clean(f"{error.host}:{error.port}"),
                    known_fingerprint=clean(error.known),
                    shown_fingerprint=clean(error.presented),
                    file=clean(error.file),
                    line=error.line,
                )
            )

    def _changed(
        self,
        state: str,
        *,
        sentence: str = "",
        via: tuple[CleanText, ...] = (),
        retry_s: float | None = None,
        exit_code: int = 0,
    ) -> None:
        self._publish(
            LinkChanged(
                host=self.host.name,
                state=state,  # type: ignore[arg-type]
                sentence=clean(sentence),
                via=via,
                retry_s=retry_s,
                exit_code=exit_code,
            )
        )


async def _ship_nvml(agent: Agent, source: bytes) -> None:
    """Send the NVML module; an agent that cannot load it says so in its own samples."""
    packed = base64.b64encode(zlib.compress(source, 6)).decode()
    with contextlib.suppress(errors.AgentError):
        await agent.request("nvml", source=packed, module="pynvml")


def _expected(host: str, count: int, gpus: tuple[memory.GpuMemory, ...]) -> GpusExpected:
    """What is remembered as a fact."""
    untold = Unknown("it was not told then")
    seen = (
        GpuRemembered(
            index=gpu.index,
            uuid=clean(gpu.uuid),
            pci_bus_id=clean(gpu.pci_bus_id) if gpu.pci_bus_id else untold,
            name=clean(gpu.name) if gpu.name else untold,
        )
        for gpu in gpus
    )
    return GpusExpected(host=host, count=count, gpus=tuple(seen))


def _in_memory(gpu: GpuIdentity) -> memory.GpuMemory:
    place, name = gpu.pci_bus_id, gpu.name
    return memory.GpuMemory(
        index=gpu.index,
        uuid=gpu.uuid,
        pci_bus_id=str(place) if known(place) else None,
        name=str(name) if known(name) else None,
    )
