"""A fault of gpudeck itself is a fact of the session: told, recorded, and without its secrets."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

from console.config import Config, Settings
from console.session.live import LiveSession
from console.session.ways import Ways
from console.values.secrets import Secret


async def test_a_task_that_breaks_is_told() -> None:
    config = Config(settings=Settings(), hosts={}, origins={})
    key = Secret("sk-canary-123456")

    async def broken() -> None:
        raise KeyError(key.reveal())

    async with AsyncExitStack() as resources, LiveSession(Ways(config, None, None, resources)) as session:
        await asyncio.wait([session.supervisor.start("hub box", broken())])
        await asyncio.sleep(0)  # its end is told by a callback
        assert session.state.session.worker_failure == "hub box: KeyError: '***'"
