"""How many events per second can this client take here? Measured against the built-in mock before the run."""

from __future__ import annotations

import asyncio
import os
import signal
from time import monotonic
from typing import Any

from .backends import Backend
from .client import Counters
from .health import Health
from .loads import ClosedLoop
from .mock import fork
from .prompts import Prompts

TOKENS = 400
RAMP_S = 0.5


def start_mock(offered_per_s: float, streams: int) -> tuple[int, int]:
    """(pid, port) of a mock that offers the rate over these streams."""
    return fork(TOKENS, 0.005, streams / offered_per_s)


async def measure(port: int, streams: int, seconds: float, backend: str) -> dict[str, Any]:
    """Delivered events per second, CPU per event, loop lag."""
    target = Backend({"host": "127.0.0.1", "port": port, "backend": backend, "model": "mock", "ignore_eos": False})
    prompts = Prompts({"kind": "words", "isl": 8}, "calibration", True)
    counters = Counters()
    load, health = ClosedLoop(streams, target, prompts, TOKENS, counters, "calibration"), Health(counters)
    load.start()
    health.start()
    await asyncio.sleep(RAMP_S)
    health.reset()
    await asyncio.sleep(seconds)
    report = health.report([])
    health.stop()
    load.stop()
    return {"streams": streams, "at_m": monotonic(), **report}


def end_mock(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
