"""The demo box: a home of its own behind a real SSH server on loopback."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

from console.remote.demo_server import demo_server

ALIAS = "demo"


class DemoBox(NamedTuple):
    """`ssh_config` leads to the host `demo`; `home` is the box's home directory, gone when the box is."""

    home: Path
    ssh_config: Path


@contextlib.asynccontextmanager
async def demo_box() -> AsyncIterator[DemoBox]:
    """Start the box; it inherits the console's environment, but for its home."""
    with tempfile.TemporaryDirectory(prefix="gpudeck-demo-") as directory:
        home = Path(directory)
        env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "GPUDECK_"))}
        env |= {"HOME": str(home), "GPUDECK_DEMO_STATE": str(home / "gpus.json")}
        async with demo_server(home, env, ALIAS) as server:
            yield DemoBox(home, server.ssh_config)
