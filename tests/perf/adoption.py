"""How soon a running server is taken up again after the link is there: `python -m tests.perf adoption` (budget 2 s)."""

from __future__ import annotations

import asyncio
import contextlib
import os
import statistics
import tempfile
import time
from pathlib import Path
from unittest.mock import patch

from console.config import load_config
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state.serve import ServerState
from tests.perf.table import Row
from tests.support import served
from tests.support.ports import free_port

TIMES = 5
BUDGET_S = 2.0
LOG_LINES = 20_000


async def taken_up(directory: Path, port: int) -> float:
    """Seconds from a link that is up to a server whose log is read, and whose readiness is proved."""
    config = load_config(cwd=directory, env={})
    async with contextlib.AsyncExitStack() as resources:
        session = await resources.enter_async_context(LiveSession(Ways(config, None, None, resources)))
        session.add(config.host("local"))
        host = session.state.hosts["local"]

        def server() -> ServerState | None:
            return next((one for one in host.serve.servers.values() if one.seen and one.seen.port == port), None)

        session.start()
        assert await session.wait(lambda _: host.link.state == "up", 30)
        began = time.perf_counter()
        assert await session.wait(lambda _: (one := server()) is not None and one.looked and bool(one.proved), 30)
        return time.perf_counter() - began


def rows() -> list[Row]:
    with tempfile.TemporaryDirectory() as text:
        directory = Path(text)
        homes = {f"XDG_{kind}_HOME": str(directory / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
        with patch.dict(os.environ, homes):
            found = _measured(directory)
    base = f"link up → log of {LOG_LINES:,} lines read and READY proved; median of {TIMES}"
    return [
        Row(measure="a running server taken up", value=statistics.median(found), unit="s", budget=BUDGET_S, base=base)
    ]


def _measured(directory: Path) -> list[float]:
    python, model = served.interpreter(directory / "venv"), served.model(directory / "tiny")
    port, log = free_port(), directory / "log"
    with served.foreign_server(python, model, port, log):
        served.until(lambda: "fired up" in log.read_text())
        line = "[2026-11-30 00:40:31 TP0] Decode batch, #running-req: 1, #token: 9, token usage: 0.02\n"
        with log.open("a") as file:
            file.write(line * LOG_LINES)
        return [asyncio.run(taken_up(directory, port)) for _ in range(TIMES)]
