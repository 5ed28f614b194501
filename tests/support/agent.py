"""A real agent of this machine, watched: its frames become facts by the console's own conversion."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import sys
import zlib
from collections.abc import AsyncIterator, Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from console.events import Event
from console.remote.agent import Agent
from console.remote.local import open_local_agent
from console.workers.samples import SAMPLE_KINDS, fact_of
from tests.support.patience import PATIENCE_S

E = TypeVar("E", bound=Event)


class Watched:
    """`facts` holds all facts so far, as (the box's monotonic time, fact)."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.facts: list[tuple[float, Event]] = []
        self.beats: list[float] = []
        self._news = asyncio.Event()

    async def watch(self) -> None:
        async for frame in self.agent.frames():
            if frame.k == "heartbeat":
                self.beats.append(frame.m)
            fact = fact_of("box", frame.k, frame.d)
            assert fact is not None or frame.k not in SAMPLE_KINDS, f"{frame.k} is no fact: {frame.d}"
            if fact is not None:
                self.facts.append((frame.m, fact))
            self._news.set()

    async def until(
        self, kind: type[E], test: Callable[[E], bool] = lambda fact: True, limit_s: float = PATIENCE_S
    ) -> E:
        """The first fact of this kind from now on, or already there, that passes."""
        seen = 0
        try:
            async with asyncio.timeout(limit_s):
                while True:
                    for _, fact in self.facts[seen:]:
                        if isinstance(fact, kind) and test(fact):
                            return fact
                    seen = len(self.facts)
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            last = [fact for _, fact in self.facts if isinstance(fact, kind)][-1:]
            raise AssertionError(f"no {kind.__name__} passed within {limit_s} s; the last one: {last}") from None

    def of(self, kind: type[E]) -> list[tuple[float, E]]:
        return [(at, fact) for at, fact in self.facts if isinstance(fact, kind)]

    def forget(self) -> None:
        self.facts.clear()

    async def send_nvml(self) -> None:
        """The laptop's pinned binding, as the console sends it."""
        await self.agent.request("nvml", module="pynvml", source=binding())


def binding() -> str:
    spec = find_spec("pynvml")
    assert spec is not None
    assert spec.origin is not None
    return base64.b64encode(zlib.compress(Path(spec.origin).read_bytes(), 9)).decode()


@contextlib.asynccontextmanager
async def watched(
    env: Mapping[str, str], *, nvml: bool = False, python: str = sys.executable, config: Mapping[str, Any] | None = None
) -> AsyncIterator[Watched]:
    agent = await open_local_agent(python, env=env, config=config)
    box = Watched(agent)
    task = asyncio.create_task(box.watch())
    try:
        if nvml:
            await box.send_nvml()
        yield box
    finally:
        await agent.close()
        await asyncio.gather(task)


async def gone(pid: int) -> bool:
    """True once the process has ended, though nobody may have waited for it yet."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
            except FileNotFoundError:
                return True
            if state == "Z":
                return True
            await asyncio.sleep(0.02)
