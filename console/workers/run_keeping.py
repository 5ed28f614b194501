"""One run on its way into the store. A laptop whose disk is full is told and waited for: nothing measured is lost,
because the worker's files stay on the box and are fetched again when there is room."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, TypeVar

from console.bench.points import Point
from console.bench.store import Manifest, RunError, RunStore

AGAIN_S = 5.0
SPARE_BYTES = 64 * 1024  # above what a point's files need: the file system's own blocks


class Fetched(NamedTuple):
    """A point and the worker's files of it, by the names that the store knows them by."""

    point: Point
    files: Mapping[str, bytes]


Blocked = Callable[[str, int], None]
Again = Callable[[str], Awaitable[Fetched | None]]
T = TypeVar("T")


class RunKeeping:
    """Writes; `blocked` hears why that fails and how many points wait, and an empty reason once all is stored.

    No measured data is held here, only the names of what waits and how many bytes it needs.
    """

    def __init__(self, store: RunStore, manifest: Manifest, blocked: Blocked) -> None:
        self._store, self._manifest, self._blocked = store, manifest, blocked
        self._waiting: dict[str, int] = {}
        self._told = ("", 0)
        self._tried = 0.0

    async def begin(self) -> tuple[Point, ...]:
        """The run's directory. The points that it holds already."""
        return await self._write(self._load) or ()

    async def add(self, fetched: Fetched) -> None:
        """A point, now or when there is room; behind those that wait, as points lie in the order of measuring."""
        first = not self._waiting
        self._waiting[fetched.point.name] = sum(map(len, fetched.files.values()))
        if first:
            await self._put(fetched)
        else:
            self._settled()

    async def catch_up(self, again: Again) -> bool:
        """Now and then, what waits. True when nothing does. `again` fetches a point, None when it is gone from the box;
        what it raises comes through."""
        if not self._waiting or time.monotonic() < self._tried + AGAIN_S:
            return not self._waiting
        for name, need_bytes in list(self._waiting.items()):
            if not self._room(need_bytes):
                break
            fetched = await again(name)
            if fetched is None:
                del self._waiting[name]
            elif not await self._put(fetched):
                break
        self._tried = time.monotonic()
        return not self._waiting

    async def finish(self, again: Again, name: str, data: bytes) -> None:
        """Until everything is stored, the file `name` last: with it the run is whole."""
        while True:
            if await self.catch_up(again) and await self._file(name, data):
                return
            await asyncio.sleep(AGAIN_S)

    async def _file(self, name: str, data: bytes) -> bool:
        return await self._write(lambda: self._add({name: data})) is not None

    async def _put(self, fetched: Fetched) -> bool:
        if await self._write(lambda: self._add(fetched.files, fetched.point)) is None:
            return False
        del self._waiting[fetched.point.name]
        self._settled()
        return True

    async def _write(self, work: Callable[[], T]) -> T | None:
        """What `work` gives; None, and the reason told, where the disk refuses."""
        try:
            done = await asyncio.to_thread(work)
        except (OSError, RunError) as error:
            reason = error.strerror if isinstance(error, OSError) else None
            self._tried = time.monotonic()
            self._tell(f"{self._store.root}: {reason or error}")
            return None
        self._settled()
        return done

    def _load(self) -> tuple[Point, ...]:
        self._store.resume(self._manifest)
        return self._store.load(self._manifest.id).points

    def _add(self, files: Mapping[str, bytes], point: Point | None = None) -> bool:
        """The files first: a point that is listed has them."""
        self._store.resume(self._manifest)
        for name, data in files.items():
            self._store.add_file(self._manifest.id, name, data)
        if point is not None:
            self._store.add_point(self._manifest.id, point)
        return True

    def _room(self, need_bytes: int) -> bool:
        """Whether it is worth fetching a point again."""
        try:
            disk = os.statvfs(self._store.root)
        except OSError:
            return True
        return disk.f_bavail * disk.f_frsize >= need_bytes + SPARE_BYTES

    def _settled(self) -> None:
        self._tell(self._told[0] if self._waiting else "")

    def _tell(self, reason: str) -> None:
        told = (reason, len(self._waiting))
        if told != self._told and (reason or self._told[0]):
            self._blocked(*told)
        self._told = told
