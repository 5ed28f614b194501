"""Passphrases, passwords and answers: asked before an attempt, kept in memory for reconnects, never shown."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from console.remote.asker import Asker
from console.remote.ssh_config import Hop
from console.values import clean

if TYPE_CHECKING:
    import asyncssh

    from console.remote.credentials import LockedKey

_TRIES = 3


class Secrets:
    """What a person told this console; `remembered` is kept by it, so that a reconnect asks nothing again."""

    def __init__(self, asker: Asker | None, remembered: dict[str, str]) -> None:
        self._asker = asker
        self._remembered = remembered

    @property
    def can_ask(self) -> bool:
        return self._asker is not None

    def password(self, hop: Hop) -> str | None:
        """The password that was given for this hop before."""
        return self._remembered.get(f"password {hop}")

    async def ask_password(self, hop: Hop) -> str | None:
        """Asks for the hop's password; what was remembered is forgotten, it did not work."""
        password = await self._ask(f"Password for {hop}: ")
        self._remembered.pop(f"password {hop}", None)
        if password is not None:
            self._remembered[f"password {hop}"] = password
        return password

    async def ask_answers(self, hop: Hop, prompts: Mapping[str, bool], answers: dict[str, str]) -> bool:
        """Asks the server's own questions (text → echo) into `answers`; those that failed again. False: declined."""
        for text in [text for text in prompts if text not in answers] or list(prompts):
            answer = await self._ask(f"{hop} asks: {clean(text)}", secret=not prompts[text])
            if answer is None:
                return False
            answers[text] = answer
        return True

    async def unlock(self, key: LockedKey) -> list[asyncssh.SSHKeyPair]:
        """The key pairs of an encrypted file; empty when nobody knows the passphrase."""
        from console.remote.credentials import load_pairs

        for attempt in range(_TRIES):
            again = "" if attempt == 0 else " (that was wrong)"
            passphrase = self._remembered.get(f"passphrase {key.path}") or await self._ask(
                f"Passphrase for {key.path}{again}: "
            )
            if passphrase is None:
                return []
            try:
                pairs = await asyncio.to_thread(load_pairs, key.path, passphrase, ())
            except (ValueError, OSError):
                self._remembered.pop(f"passphrase {key.path}", None)
                continue
            self._remembered[f"passphrase {key.path}"] = passphrase
            return pairs
        return []

    async def _ask(self, prompt: str, *, secret: bool = True) -> str | None:
        return await self._asker.ask(prompt, secret) if self._asker is not None else None
