"""What the console remembers about boxes: a cache of facts in `$XDG_STATE_HOME/gpudeck/hosts.json`."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from console.config import paths


class GpuMemory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who a GPU was."""

    index: int
    uuid: str
    pci_bus_id: str | None = None
    name: str | None = None


class HostMemory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`gpus_expected`: the highest GPU count seen, `gpus` those of the last such visit. `last_used`: UTC, ISO 8601."""

    gpus_expected: int | None = None
    gpus: tuple[GpuMemory, ...] = ()
    last_used: str | None = None


def memory_file() -> Path:
    """Where it lies."""
    return paths.home_dir("state") / "hosts.json"


def read_memory() -> dict[str, HostMemory]:
    """All boxes by name; nothing when the file is missing or cannot be read."""
    try:
        return msgspec.json.decode(memory_file().read_bytes(), type=dict[str, HostMemory])
    except (OSError, msgspec.MsgspecError):
        return {}


def recent_hosts() -> list[str]:
    """Names of the boxes used before, the latest first."""
    used = {name: host.last_used for name, host in read_memory().items() if host.last_used}
    return sorted(used, key=lambda name: used[name], reverse=True)


def remember(name: str, *, gpus: Sequence[GpuMemory] = (), used: str | None = None) -> HostMemory:
    """Keep the highest GPU count, who they were, and the last use (UTC, ISO 8601) of a box. Raises OSError."""
    with _locked():
        hosts = read_memory()
        before = hosts.get(name, HostMemory())
        whole = bool(gpus) and len(gpus) >= (before.gpus_expected or 0)
        hosts[name] = HostMemory(
            gpus_expected=len(gpus) if whole else before.gpus_expected,
            gpus=tuple(gpus) if whole else before.gpus,
            last_used=used or before.last_used,
        )
        if hosts[name] != before:
            paths.write_private(memory_file(), msgspec.json.encode(hosts))
        return hosts[name]


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Two consoles may remember at once."""
    lock = paths.make_private_dir(memory_file().parent) / "hosts.lock"
    with lock.open("wb") as stream:
        lock.chmod(0o600)
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield
