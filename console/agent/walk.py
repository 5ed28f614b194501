"""Reading many things of which any may hang: one thread walks them in turn, and stays with the one that hangs.

A thread inside a hung driver or file system cannot be stopped. So when an item has not come back within the
deadline, its walker is left with it alone, and a new walker takes the others: one hung GPU never hides seven, and
no thread is added while nothing hangs.
"""

from __future__ import annotations

import threading
import time
from typing import Any, Sequence

SLACK_S = 0.05  # an item is begun a little after the round, and is late a little after the deadline


class _Walker:
    def __init__(self) -> None:
        self.items: list[Any] = []
        self.busy: Any = None
        self.since = 0.0


class Walk:
    """`round(items)` has each item's `read()`, which must not raise, called once.

    Items are kept by identity from round to round.
    """

    def __init__(self, name: str, deadline_s: float) -> None:
        self._name = name
        self._deadline_s = deadline_s
        self._changed = threading.Condition()
        self._walkers: list[_Walker] = []
        self._round = 0
        self._done: dict[int, int] = {}  # id of an item: the last round that it was read in

    def round(self, items: Sequence[Any]) -> None:
        """Read all items; back when all that do not hang have been read, at the latest after the deadline."""
        end = time.monotonic() + self._deadline_s + SLACK_S
        with self._changed:
            self._round += 1
            self._assign(items)
            self._changed.notify_all()
            while True:
                now = time.monotonic()
                for walker in list(self._walkers):
                    if self._hangs(walker, now) and len(walker.items) > 1:
                        self._leave(walker)
                if now >= end or all(
                    self._is_read(item) for w in self._walkers if not self._hangs(w, now) for item in w.items
                ):
                    return
                self._changed.wait(self._until(now, end))

    def stuck_s(self, item: Any) -> float | None:
        """How long the item has not answered, past the deadline; None when it answers."""
        now = time.monotonic()
        with self._changed:
            for walker in self._walkers:
                if walker.busy is item and self._hangs(walker, now):
                    return now - walker.since
        return None

    def _hangs(self, walker: _Walker, now: float) -> bool:
        return walker.busy is not None and now - walker.since >= self._deadline_s

    def _is_read(self, item: Any) -> bool:
        return self._done.get(id(item), 0) >= self._round

    def _until(self, now: float, end: float) -> float:
        """Up to the next moment at which a walker would count as hanging, or the end."""
        moments = [w.since + self._deadline_s for w in self._walkers if w.busy is not None]
        return max(0.001, min([end] + [moment for moment in moments if moment > now]) - now)

    def _assign(self, items: Sequence[Any]) -> None:
        """Forget what is no longer asked for, give what is new to a walker that answers."""
        wanted = {id(item) for item in items}
        for walker in self._walkers:
            walker.items = [item for item in walker.items if id(item) in wanted]
        self._walkers = [walker for walker in self._walkers if walker.items]
        self._done = {key: done for key, done in self._done.items() if key in wanted}
        owned = {id(item) for walker in self._walkers for item in walker.items}
        new = [item for item in items if id(item) not in owned]
        if new:
            now = time.monotonic()
            free = [walker for walker in self._walkers if not self._hangs(walker, now)]
            (free[0] if free else self._hire()).items.extend(new)

    def _leave(self, walker: _Walker) -> None:
        rest = [item for item in walker.items if item is not walker.busy]
        walker.items = [walker.busy]
        self._hire().items = rest

    def _hire(self) -> _Walker:
        walker = _Walker()
        self._walkers.append(walker)
        threading.Thread(target=self._run, args=(walker,), name=self._name, daemon=True).start()
        return walker

    def _run(self, walker: _Walker) -> None:
        while True:
            with self._changed:
                item = self._next(walker)
                while item is None:
                    if walker not in self._walkers:
                        return
                    self._changed.wait()
                    item = self._next(walker)
                number = self._round
                walker.busy, walker.since = item, time.monotonic()
            item.read()
            with self._changed:
                walker.busy = None
                self._done[id(item)] = number
                self._changed.notify_all()

    def _next(self, walker: _Walker) -> Any:
        return next((item for item in walker.items if not self._is_read(item)), None)
