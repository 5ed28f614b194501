"""Secrets asked at the terminal, without echo, before a connection is opened."""

from __future__ import annotations

import asyncio
import getpass
import sys

from console.values.secrets import remember


class TerminalAsker:
    """Asks on the terminal of standard error."""

    async def ask(self, prompt: str, secret: bool = True) -> str | None:
        """The answer; None when the person ends the input."""
        try:
            return await asyncio.to_thread(_read, prompt, secret)
        except (EOFError, KeyboardInterrupt):
            return None


def _read(prompt: str, secret: bool) -> str:
    if not secret:
        print(f"{prompt} ", end="", file=sys.stderr, flush=True)  # noqa: T201 - a prompt, on standard error
        return sys.stdin.readline().rstrip("\n")
    answer = getpass.getpass(f"{prompt} ", stream=sys.stderr)
    remember(answer)
    return answer


def terminal_asker() -> TerminalAsker | None:
    """An asker when standard input and standard error are terminals; otherwise nobody is asked."""
    return TerminalAsker() if sys.stdin.isatty() and sys.stderr.isatty() else None
