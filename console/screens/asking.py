"""Secrets asked on screen: a dialog that shows no character of them."""

from __future__ import annotations

import asyncio

from console.screens.deck import Deck
from console.values import clean
from console.values.secrets import remember
from widgets.dialog import AskDialog


class ScreenAsker:
    """An asker that waits for its deck: links may ask before the first paint."""

    def __init__(self) -> None:
        self._deck: asyncio.Future[Deck] | None = None
        self._one_at_a_time = asyncio.Lock()

    def attach(self, deck: Deck) -> None:
        """From now on this deck shows the dialogs."""
        self._waiting().set_result(deck)

    def _waiting(self) -> asyncio.Future[Deck]:
        if self._deck is None:
            self._deck = asyncio.get_running_loop().create_future()
        return self._deck

    async def ask(self, prompt: str, secret: bool = True) -> str | None:
        """The answer; None when the dialog was closed."""
        deck = await self._waiting()
        async with self._one_at_a_time:
            answered: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
            await deck.push_screen(
                AskDialog("Log in", [("asked", clean(prompt))], str, secret=secret), answered.set_result
            )
            answer = await answered
        if answer and secret:
            remember(answer)
        return answer
