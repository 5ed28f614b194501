"""The rows of the host picker: recent boxes first, `local`, the demo last; how each is reached comes later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import NamedTuple

from console.config import Config
from console.config.aliases import ssh_aliases
from console.config.memory import recent_hosts

DEMO, LOCAL = "demo", "local"


class Choice(NamedTuple):
    """A box that can be opened: its name, where it comes from, the chain of hops to it (empty until it is known)."""

    name: str
    source: str
    way: str = ""


class Picker:
    """Names are read at once; what `ssh -G` says of each takes a process a hop, so it is asked aside, and once."""

    def __init__(self, config: Config, ssh_config: Path | None) -> None:
        self._config = config
        self._ssh_config = ssh_config
        self._known: dict[str, str] = {}

    def choices(self) -> list[Choice]:
        """Blocks for a few small files."""
        sources = dict.fromkeys(self._config.hosts, "config.toml")
        for name in ssh_aliases(self._ssh_config):
            sources.setdefault(name, "SSH config")
        recent = [name for name in recent_hosts() if name not in (LOCAL, DEMO)]
        rows = {name: self._choice(name, "recent") for name in recent}
        for name, source in sources.items():
            rows.setdefault(name, self._choice(name, source))
        rows[LOCAL] = Choice(LOCAL, "this machine", "no SSH")
        rows[DEMO] = Choice(DEMO, "loopback", "no GPU, no SSH needed")
        return list(rows.values())

    def _choice(self, name: str, source: str) -> Choice:
        return Choice(name, source, self._known.get(name, ""))

    async def rows(self) -> AsyncIterator[Sequence[Choice]]:
        """The choices, then again whenever the way to one of them is known."""
        rows = await asyncio.to_thread(self.choices)
        yield rows
        unknown = [row.name for row in rows if not row.way]
        found: asyncio.Queue[tuple[str, str] | None] = asyncio.Queue()
        loop, stopped = asyncio.get_running_loop(), threading.Event()

        def ask() -> None:
            for name in unknown:
                if stopped.is_set():
                    return
                loop.call_soon_threadsafe(found.put_nowait, (name, self._way(name)))
            loop.call_soon_threadsafe(found.put_nowait, None)

        # A thread of its own: a `Match exec` that hangs must not keep the console from ending.
        threading.Thread(target=ask, name="picker", daemon=True).start()
        try:
            while (answer := await found.get()) is not None:
                self._known[answer[0]] = answer[1]
                rows = [row._replace(way=self._known.get(row.name, row.way)) for row in rows]
                yield rows
        finally:
            stopped.set()

    def _way(self, name: str) -> str:
        """`root@bastion → root@10.1.2.200`, or why the configuration cannot be used."""
        from console.remote.errors import RemoteError
        from console.remote.ssh_config import resolve

        try:
            return " → ".join(map(str, resolve(self._config.host(name).ssh, self._ssh_config)))
        except RemoteError as error:
            return str(error)
