"""The entry to SSH: light to import; asyncssh is loaded in a thread when the first connection is made."""

from __future__ import annotations

import asyncio
import importlib
import random
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from console.remote.asker import Asker
from console.remote.errors import HostKeyUnknown
from console.remote.ssh_config import resolve
from console.remote.vault import Secrets

if TYPE_CHECKING:
    from console.remote.connection import Connection

MAX_CONNECTING = 4  # sshd's MaxStartups drops more than ten
_STAGGER_S = 0.15


class Host(Protocol):
    """What is needed of a configured host: `ssh` is an alias or user@host[:port]."""

    @property
    def ssh(self) -> str: ...

    @property
    def python(self) -> str | None: ...

    @property
    def env(self) -> Mapping[str, str]: ...


class Dialer:
    """Opens connections, few at a time. One for a whole console: it remembers secrets for reconnects.

    `expect_fingerprint` (`SHA256:…`) accepts exactly that unknown host key. Without an asker nothing is asked.
    """

    def __init__(
        self, *, ssh_config: Path | None = None, expect_fingerprint: str | None = None, asker: Asker | None = None
    ) -> None:
        self._ssh_config, self._expected = ssh_config, expect_fingerprint
        self._secrets = Secrets(asker)
        self._gate = asyncio.Semaphore(MAX_CONNECTING)

    async def connect(self, host: Host) -> Connection:
        """The open connection to a host, through all its hops. Raises a RemoteError that has its sentence."""
        await self.load()
        from console.remote.connection import open_chain

        async with self._gate:
            if self._gate.locked():
                await asyncio.sleep(random.uniform(0, _STAGGER_S))
            hops = await asyncio.to_thread(resolve, host.ssh, self._ssh_config)
            return await open_chain(hops, self._secrets, self._expected, host.python, host.env)

    async def load(self) -> None:
        """Imports asyncssh (half a second of CPU) in a thread, once."""
        await asyncio.to_thread(importlib.import_module, "console.remote.connection")


async def accept_host_key(unknown: HostKeyUnknown) -> Path:
    """Adds the key to our own known_hosts file, after a person compared it. Then connect again."""
    from console.remote import known_hosts

    return await asyncio.to_thread(known_hosts.accept_host_key, unknown)
