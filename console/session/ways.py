"""The ways to boxes: SSH, this machine, the demo box. Heavy imports wait until the first box is opened."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from console.config import Config, HostConfig
from console.remote.agent import Agent
from console.remote.asker import Asker
from console.remote.ssh_config import parse_destination, ssh_command
from console.session.picker import DEMO, LOCAL, Picker
from console.workers.link import Link

if TYPE_CHECKING:
    from console.demo.box import DemoBox


class LocalLink:
    """This machine itself: an agent in a process instead of behind SSH."""

    via: tuple[str, ...] = ()
    banner: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __init__(self, host: HostConfig) -> None:
        self._host = host

    async def open_agent(self) -> Agent:
        """Start an agent here."""
        from console.remote.local import open_local_agent

        return await open_local_agent("python3", self._host.env)

    async def forward(self, box_port: int, *, address: str) -> None:
        """The box is this machine: there is nothing to tunnel."""

    async def close(self) -> None:
        """Nothing is held."""


class Ways:
    """Opens boxes by their configuration. `resources` closes what a way had to start, such as the demo box."""

    def __init__(
        self, config: Config, asker: Asker | None, expect_fingerprint: str | None, resources: AsyncExitStack
    ) -> None:
        self.config = config
        self._asker = asker
        self._expected = expect_fingerprint
        self._resources = resources
        self._remembered: dict[str, str] = {}
        self._demo: DemoBox | None = None
        self.picker = Picker(config, self._ssh_config)

    @property
    def _ssh_config(self) -> Path | None:
        return Path(self.config.settings.ssh_config) if self.config.settings.ssh_config else None

    async def open(self, host: HostConfig) -> Link:
        """The open way to a box; raises a RemoteError with its sentence."""
        if host.name == LOCAL:
            return LocalLink(host)
        ssh_config = self._ssh_config
        if host.name == DEMO:
            ssh_config = (await self.demo_box()).ssh_config
        connection = await asyncio.to_thread(importlib.import_module, "console.remote.connection")
        link: Link = await connection.connect(
            host.ssh,
            python=host.python,
            env=host.env,
            ssh_config=ssh_config,
            asker=self._asker,
            expect_fingerprint=self._expected,
            remembered=self._remembered,
        )
        return link

    async def demo_box(self) -> DemoBox:
        """The demo box, started once a session."""
        if self._demo is not None:
            return self._demo
        room = await asyncio.to_thread(importlib.import_module, "console.demo.box")
        box: DemoBox = await self._resources.enter_async_context(room.demo_box())
        self._demo = box
        return box

    def nvml(self, host: HostConfig) -> bytes:
        """nvidia-ml-py's single file as installed here; the demo box plays its own. Raises ModuleNotFoundError."""
        name = "console.demo.nvml" if host.name == DEMO else "pynvml"
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(name)
        return Path(spec.origin).read_bytes()

    def shell_command(self, host: HostConfig) -> Sequence[str]:
        """The arguments of an interactive shell on the box."""
        if host.name == LOCAL:
            return ["sh", "-i"]
        config = self._demo.ssh_config if host.name == DEMO and self._demo else self._ssh_config
        return ssh_command(parse_destination(host.ssh), config)
