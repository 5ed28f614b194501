"""How this room asks a person for a secret: always before a connection is opened, never echoed."""

from __future__ import annotations

from typing import Protocol


class Asker(Protocol):
    """Asks and waits. None: the person declined. Without an asker (headless) nothing is ever asked."""

    async def ask(self, prompt: str, secret: bool = True) -> str | None: ...
