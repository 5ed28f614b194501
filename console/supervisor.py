"""Named tasks that are stopped by cancelling AND waiting: nothing of ours outlives the session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

CANCEL_AGAIN_S = 5.0

Failed = Callable[[str, BaseException], None]


class Supervisor:
    """Owns background tasks by name. A task that fails is reported once and does not take the others down."""

    def __init__(self, failed: Failed) -> None:
        self._failed = failed
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    def start(self, name: str, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run `work` under a name that no running task has. Raises ValueError when one has it."""
        running = self._tasks.get(name)
        if running is not None and not running.done():
            work.close()
            raise ValueError(f"a task named {name!r} is running already")
        task = asyncio.create_task(work, name=name)
        self._tasks[name] = task
        task.add_done_callback(lambda ended: self._ended(name, ended))
        return task

    def _ended(self, name: str, task: asyncio.Task[Any]) -> None:
        if self._tasks.get(name) is task:
            del self._tasks[name]
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(name, error)

    def running(self) -> list[str]:
        """The names of the tasks that run."""
        return sorted(self._tasks)

    async def stop(self, name: str | None = None) -> None:
        """Cancel one task, or all, and wait until their cleanup is done."""
        pending = {task for key, task in self._tasks.items() if name in (None, key)}
        while pending:
            for task in pending:
                task.cancel()
            # Once more after a while: libraries swallow a cancellation (asyncio.wait_for of Python 3.11 does, when
            # what it waits for ends at the same moment).
            _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN_S)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
