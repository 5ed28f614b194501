"""When an app is at rest. Textual takes a process that gets no processor for idle; here nothing is ready then."""

from __future__ import annotations

import asyncio
from typing import Any

from textual import _wait, app, pilot

_quiet = _wait.wait_for_idle
ROUNDS = 10_000  # of the loop; something that is never idle is waited for no longer


async def wait_for_idle(*limits: float) -> None:
    """A quiet moment, and after it whatever became ready meanwhile, and became ready by that."""
    await _quiet(*limits)
    loop: Any = asyncio.get_running_loop()
    for _ in range(ROUNDS):
        if not loop._ready:
            return
        await asyncio.sleep(0)


def install() -> None:
    """For all apps of this process."""
    for module in (app, pilot):
        module.wait_for_idle = wait_for_idle  # type: ignore[attr-defined]
