"""The demo box: a home behind a real SSH server on loopback, a Hub, an interpreter with SGLang's stand-in."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import signal
import tempfile
import venv
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import NamedTuple

from console.demo import shelf
from console.demo.hub import FakeHub
from console.demo.sglang import install
from console.remote.demo_server import demo_server

ALIAS = "demo"


class DemoBox(NamedTuple):
    """`ssh_config` leads to the host `demo`; `home` is the box's home directory, gone when the box is.

    `cut` breaks every connection to it.
    """

    home: Path
    ssh_config: Path
    hub: FakeHub
    cut: Callable[[], None]


@contextlib.asynccontextmanager
async def demo_box() -> AsyncIterator[DemoBox]:
    """Start the box; it inherits the console's environment, but for its home, its Hub and its python3."""
    with tempfile.TemporaryDirectory(prefix="gpudeck-demo-", ignore_cleanup_errors=True) as directory, FakeHub() as hub:
        home = Path(directory)
        shelf.fill(hub)
        await asyncio.to_thread(_make_python, home / "venv")
        try:
            async with demo_server(home, _environment(home, hub), ALIAS) as server:
                yield DemoBox(home, server.ssh_config, hub, server.cut)
        finally:
            await asyncio.to_thread(_switch_off, home)


def _environment(home: Path, hub: FakeHub) -> dict[str, str]:
    dropped = ("XDG_", "GPUDECK_", "HF_", "HUGGING_FACE", "PYTHON")
    env = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return env | {
        "HOME": str(home),
        "PATH": f"{home / 'venv' / 'bin'}{os.pathsep}{env.get('PATH', os.defpath)}",
        "HF_ENDPOINT": hub.endpoint,
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "NO_PROXY": "127.0.0.1,localhost",
        "GPUDECK_DEMO_STATE": str(home / "gpus.json"),
    }


def _make_python(directory: Path) -> None:
    """An interpreter whose `sglang` is the stand-in and whose `huggingface_hub` is the one installed here."""
    venv.EnvBuilder(symlinks=True, with_pip=False).create(directory)
    (site,) = (directory / "lib").glob("python*/site-packages")
    install(site)
    found = importlib.util.find_spec("huggingface_hub")
    if found is not None and found.origin is not None:
        (site / "installed.pth").write_text(f"{Path(found.origin).parents[1]}\n")


def _switch_off(home: Path) -> None:
    """A box that goes takes its jobs along: every process whose home it is."""
    mark = f"HOME={home}".encode()
    for _ in range(3):  # a dying parent may have started a child meanwhile
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
