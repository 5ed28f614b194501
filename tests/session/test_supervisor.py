"""Nothing that the supervisor started outlives it."""

from __future__ import annotations

import asyncio

import pytest

from console import supervisor
from console.supervisor import Supervisor


async def test_stop_waits_for_the_cleanup() -> None:
    done: list[str] = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            done.append("cleaned")

    async with Supervisor(lambda *_: None) as owner:
        owner.start("work", work())
        await asyncio.sleep(0)
        assert owner.running() == ["work"]
    assert done == ["cleaned"]


async def test_a_swallowed_cancellation_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "CANCEL_AGAIN_S", 0.01)

    async def deaf() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.Event().wait()

    owner = Supervisor(lambda *_: None)
    owner.start("deaf", deaf())
    await asyncio.sleep(0)
    async with asyncio.timeout(5):
        await owner.stop()
    assert owner.running() == []


async def test_one_failure_is_told_and_leaves_the_others() -> None:
    told: list[tuple[str, str]] = []

    async def breaks() -> None:
        raise ValueError("broken")

    async with Supervisor(lambda name, error: told.append((name, str(error)))) as owner:
        owner.start("good", asyncio.Event().wait())
        task = owner.start("bad", breaks())
        await asyncio.wait([task])
        await asyncio.sleep(0)
        assert told == [("bad", "broken")]
        assert owner.running() == ["good"]
        with pytest.raises(ValueError, match="good"):
            owner.start("good", asyncio.Event().wait())
