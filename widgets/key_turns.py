"""What is typed in one go arrives key by key: the next one only when what the last one opened can take it."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from textual.app import App
from textual.events import Key, Paste
from textual.message_pump import MessagePump

Typed: TypeAlias = Key | Paste


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
        if self._waiting:
            screen = self._app.screen
            way = (self._app.focused or screen).ancestors_with_self
            await self._give(self._waiting.popleft())
            self._settling = asyncio.create_task(self._settle(way, screen))

    async def _settle(self, way: Sequence[MessagePump], screen: MessagePump) -> None:
        """Follow the key up from its widget to the app, then wait for the screen that it opened to have its focus."""
        for pump in way:
            await _passed(pump)
        while self._app.screen_stack and screen is not (screen := self._app.screen):
            await _passed(screen)
        self._app.call_later(self._next)


async def _passed(pump: MessagePump) -> None:
    """Whatever was sent to it before has been handled, or never will be."""
    passed, its_end = asyncio.get_running_loop().create_future(), pump._task
    if pump.call_later(_done, passed):
        await asyncio.wait([passed, its_end] if its_end else [passed], return_when=asyncio.FIRST_COMPLETED)


def _done(passed: asyncio.Future[None]) -> None:
    if not passed.done():
        passed.set_result(None)
