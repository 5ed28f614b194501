"""A fault as a row, and what must be true of every row."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

from console.events.link import LinkChanged
from tests.support.fault_log import tell
from tests.support.patience import PATIENCE_S
from tests.support.scene import BoxSide, Scene, check_record, scene
from tests.support.sshd import User

Step = Callable[[Scene], Awaitable[object]]


async def nothing(_: Scene) -> None:
    """The console comes back by itself."""


class Fault(NamedTuple):
    """`trigger` is what `inject` does, in words; `says` (regular expressions) must be on the screen `within_s` of it.

    `prepare` runs before the box is switched on; without `inject` that is the fault, and is there from the start.
    """

    name: str
    trigger: str
    says: tuple[str, ...]
    within_s: float
    inject: Step | None = None
    heal: Step = nothing
    survives: bool = False  # the link is never given up
    prepare: Callable[[BoxSide], None] = lambda box: None
    consoles: int = 1
    gpus: bool = True


async def suffer(fault: Fault, place: Path, someone: User | None = None) -> None:
    """Play a fault: the screen says it in time, the work goes on, all is known again, told once, nothing is left."""
    handles = len(os.listdir("/proc/self/fd"))
    async with scene(place, someone=someone, gpus=fault.gpus, prepare=fault.prepare, consoles=fault.consoles) as one:
        began, before = time.monotonic(), one.box.counted
        following, agents = None, list[int]()
        if fault.inject is not None:
            await one.healthy()
            following, agents, before = one.follow(), one.box.agents(), one.box.counted
            began = time.monotonic()
            await fault.inject(one)
        await one.says(fault.says, fault.within_s)
        seen_s = time.monotonic() - began
        await fault.heal(one)
        await one.healthy()
        following = following or one.follow()
        session, box = one.session, one.box
        count = len(box.counted)
        assert count > len(before), "the job stood still"
        await one.until(lambda: len(one.lines) >= count, PATIENCE_S, "every line told")
        await box.ended([pid for pid in agents if pid not in _current(one)])
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await session.__aexit__()
        await box.ended(box.agents())
        assert box.left() == []
        assert one.lines == list(range(len(one.lines)))
        assert box.counted == list(range(len(box.counted)))
    facts = check_record(place / "record.jsonl", session)
    lost = [fact for fact in facts if isinstance(fact, LinkChanged) and fact.state in ("lost", "blocked")]
    assert bool(lost) != fault.survives
    assert len(os.listdir("/proc/self/fd")) <= handles
    tell(fault.name, fault.trigger, fault.within_s, seen_s, "none", "nothing")


def _current(one: Scene) -> list[int]:
    boxes = [one.session.box(name) for name in one.names]
    return [box.agent.hello["pid"] for box in boxes if box is not None]
