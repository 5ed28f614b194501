"""What is typed in one go arrives key by key: the next one only when all that the last one led to has come about."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from textual.app import App
from textual.events import Key, Paste
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.worker import WorkerError

Typed: TypeAlias = Key | Paste

LOOK_S = 0.005
MOST_S = 3.0


class KeyTurns:
    """Textual sends every key at once to the screen of that moment. Of `N`, `h`, `i` in one read of the terminal the
    last two would go to the screen below the dialog that `N` is about to open, and be lost there."""

    def __init__(self, app: App[None], give: Callable[[Typed], Awaitable[None]]) -> None:
        self._app = app
        self._give = give
        self._waiting: deque[Typed] = deque()
        self._settling: asyncio.Task[None] | None = None

    async def take(self, typed: Typed) -> None:
        """Give it to the app, now or in its turn."""
        self._waiting.append(typed)
        if self._settling is None:
            await self._next()

    async def _next(self) -> None:
        self._settling = None
        if self._waiting and self._app.screen_stack:  # at the end the last screen goes before the keys do
            screen = self._app.screen
            way = (self._app.focused or screen).ancestors_with_self
            await self._give(self._waiting.popleft())
            self._settling = asyncio.create_task(self._settle(way, screen))

    async def _settle(self, way: Sequence[MessagePump], screen: MessagePump) -> None:
        """Follow the key up from its widget to the app, and what it made there, such as a text's `Submitted`, too.

        Then wait for all that comes of it: a screen that it opened to have its focus, a search to have found.
        """
        try:
            async with asyncio.timeout(MOST_S):
                for pump in (*way, *way):
                    await _passed(pump, pump.call_later)
                while self._app.screen_stack and await self._moved(self._app.screen):
                    pass
        except TimeoutError:
            pass  # what never comes to rest, or hangs, takes no key away from others, `ctrl+q` among them
        finally:
            self._app.call_later(self._next)

    async def _moved(self, screen: Screen[Any]) -> bool:
        """Wait for the messages that are on their way, and for the screen's own work; False when there were none."""
        for pump in (self._app, screen):
            await _passed(pump, pump.call_later)  # the end of what they are at
        while self._app._batch_count and self._app.is_running:  # noqa: ASYNC110 - a change of screens, held back
            await asyncio.sleep(LOOK_S)
        there = (self._app, *screen.walk_children(with_self=True))
        passed = [await _passed(pump, pump.call_later) for pump in there if pump.message_queue_size]
        if screen._callbacks:  # scrolls, among others, which are relative to where the last one led
            passed.append(await _passed(screen, screen.call_after_refresh))
        await self._app.animator.wait_for_idle()  # a scroll without animation is done at its next tick, too
        work = [worker for worker in self._app.workers if worker.node is screen and not worker.is_finished]
        for worker in work:
            with suppress(WorkerError):  # cancelled by the next search, or failed, which the app tells
                await worker.wait()
        return any(passed) or bool(work)


async def _passed(pump: MessagePump, call: Callable[..., bool]) -> bool:
    """The pump has come to a call of its own, or never will; False when it takes none any more."""
    passed, its_end = asyncio.get_running_loop().create_future(), pump._task
    if not call(_done, passed):
        return False
    await asyncio.wait([passed, its_end] if its_end else [passed], return_when=asyncio.FIRST_COMPLETED)
    return passed.done()


def _done(passed: asyncio.Future[None]) -> None:
    if not passed.done():
        passed.set_result(None)
