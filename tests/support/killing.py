"""A console that is killed (SIGKILL) at the moment when it says something, and how soon the next one has its server."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from console.config import load_config
from console.session.live import LiveSession
from console.session.ways import Ways
from console.state.serve import ServerState
from console.values import known
from tests.support.gpudeck import Gpudeck
from tests.support.patience import PATIENCE_S

LIMIT_S = 300.0


def killed_at(gpudeck: Gpudeck, words: tuple[str, ...], said: str, **env: str) -> str:
    """Run a command and kill it once a line of its narration holds `said`; everything that it had said."""
    process = subprocess.Popen(
        gpudeck.argv(*words), env=gpudeck.env | env, cwd=gpudeck.laptop.directory,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    heard = ""
    assert process.stderr is not None
    with process.stderr as narration:
        for line in narration:
            heard += line
            if said in line:
                os.kill(process.pid, signal.SIGKILL)
                break
    assert process.wait(LIMIT_S) == -signal.SIGKILL, heard
    return heard


class Adopted(NamedTuple):
    """`took_s`: from a link that is up until the server is known as it is now."""

    took_s: float
    server: ServerState


async def adopted(gpudeck: Gpudeck, host: str, port: int, monkeypatch: pytest.MonkeyPatch) -> Adopted | None:
    """A new console looks at the box; None when no server of the port is there."""
    for name, value in gpudeck.env.items():
        if name.startswith(("XDG_", "GPUDECK_")):
            monkeypatch.setenv(name, value)
    config = load_config(cwd=Path(gpudeck.laptop.directory), env=dict(os.environ))
    async with contextlib.AsyncExitStack() as resources:
        session = await resources.enter_async_context(LiveSession(Ways(config, None, None, resources)))
        session.add(config.host(host))
        serve, link = session.state.hosts[host].serve, session.state.hosts[host].link

        def present() -> list[ServerState]:
            return [one for one in serve.servers.values() if one.present]

        session.start()
        assert await session.wait(lambda _: link.state == "up", PATIENCE_S)
        began = time.monotonic()
        assert await session.wait(lambda _: known(serve.listed) and all(one.looked for one in present()), PATIENCE_S)
        found = next((one for one in present() if one.seen and one.seen.port == port), None)
        return Adopted(time.monotonic() - began, found) if found is not None else None
